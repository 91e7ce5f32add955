"""What axe finds on a page. It walks over all that is there before it asks anything: what it shall not ask is kept out of its way."""

from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Page

AXE = Path(__file__).parents[1] / "vendor" / "axe-core" / "axe.min.js"
STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
MORE = ("region", "label-content-name-mismatch")
OF_THEMES = ("color-contrast", "link-in-text-block")  # axe's rules that ask for colours
OF_WIDTHS = ("target-size", "scrollable-region-focusable", "avoid-inline-spacing")  # and those that ask for room

LOOK = """async (asked) => {
    const repeated = (places, kind) => {
        const had = new Set();
        return places.filter((place) => had.size === had.add(kind(place)).size);
    };
    const within = (place) => (place === document.body ? "" : `${place.localName}.${place.className}<${within(place.parentElement)}`);
    const alike = document.querySelectorAll("main pre span, main .katex span, a[href]");
    const seen = [...alike].filter((part) => part.checkVisibility());
    const twice = new Set(repeated(seen, within));
    for (const part of twice) part.dataset.seen = "";
    const once = (id, selector) => ({ id, selector: `${selector}:not([data-seen])` });
    axe.configure({ rules: [once("color-contrast", ""), once("link-in-text-block", "a[href]")] });
    const exclude = repeated([...document.querySelectorAll(".bim-mount")], (mount) => mount.dataset.kind);
    // Out of axe's way, and where axe alone looks for it: nothing on the page moves.
    const [thinned, gone] = [[document], new Set()];
    const thin = (box, stays) => {
        for (const part of box.children) if (!stays(part)) gone.add(part);
        const left = [...box.childNodes].filter((part) => !gone.has(part));
        thinned.push(Object.defineProperty(box, "childNodes", { configurable: true, value: left }));
    };
    for (const mount of exclude) thin(mount, () => false);
    const askedOf = new Set();
    for (let part of seen.filter((one) => !twice.has(one))) {
        for (; part !== document.body && !askedOf.has(part); part = part.parentElement) askedOf.add(part);
    }
    for (const box of document.querySelectorAll("main pre, main pre span, main .katex-html, main .katex-html span")) {
        if (box.firstElementChild) thin(box, (part) => askedOf.has(part));
    }
    const filter = (part) => (gone.has(part) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
    document.createTreeWalker = (from, what) => Document.prototype.createTreeWalker.call(document, from, what, filter);
    const where = exclude.length ? { include: [document.documentElement], exclude } : document;
    const found = axe.run(where, { ...asked, preload: false, resultTypes: ["violations"] });
    const whole = () => thinned.forEach((box) => delete box.childNodes && delete box.createTreeWalker);
    return (await found.finally(whole)).violations;
}"""


def violations(page: Page, only: Sequence[str] = ()) -> list[str]:
    """What axe finds against WCAG 2.0 to 2.2, A and AA, and its two rules for landmarks: rule, what is wrong, where.

    only: these rules instead of all, OF_THEMES where nothing but colours has changed since the last look, OF_WIDTHS where the width has.
    Of several widgets of a kind the first is looked into: each kind has such a test of its own, in more states than these.
    Of links and of the letters of code and formulas, whose colours come from their class, the first of a class in a kind of box.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))  # evaluated, not added as a script: the page forbids that
    asked = (
        {"runOnly": list(only)} if only else {"runOnly": STANDARDS, "rules": {rule: {"enabled": True} for rule in MORE}}
    )
    # preload would ask for style sheets again, which a page from a folder may not; what passes is a third of the work to tell
    found = page.evaluate(LOOK, asked)
    return [
        f"{rule['id']}: {node['failureSummary']} at {node['html'][:160]}" for rule in found for node in rule["nodes"]
    ]
