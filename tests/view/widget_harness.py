"""A page with widgets of one kind and nothing else, as a file: what the browser tests press. Needs no server and no network."""

from __future__ import annotations

import json
from base64 import b64decode
from html import escape
from importlib import import_module
from pathlib import Path

from helpers.view import widgets as table
from helpers.view.shared.bundle import plain_script
from helpers.view.shared.mount import Spec
from helpers.view.shared.widget import VIEW, stylesheet

INTER = VIEW.parents[1] / "assets" / "vendor" / "inter" / "inter-latin-wght-normal.woff2"
FONT = f'@font-face {{ font-family: Inter; font-weight: 100 900; src: url("{INTER.as_uri()}"); }}'
AXE = (Path(__file__).parents[1] / "vendor" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
COLOURS = ["color-contrast", "link-in-text-block"]
OF_THEMES = {"type": "rule", "values": COLOURS}
OF_WIDTHS = {"type": "rule", "values": [*COLOURS, "target-size", "scrollable-region-focusable"]}
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

# A model as a kernel's: what is set is told at once, what is saved is counted.
MODEL = """
const letters = (bytes) => Array.from(bytes, (code) => String.fromCodePoint(code)).join("");
const carried = (one) => (one instanceof Uint8Array ? { bytes: btoa(letters(one)) } : one);
const BytesInMotion = {
  define: (kind, widget) => { BytesInMotion.widget = widget; },
  load: async () => {},
  python: { watch: (hear) => hear({ phase: "ready" }), ask: (path, ...args) => answered(path, args.map(carried)) },
};
function makeModel(state) {
  const hearers = {};
  return {
    saved: 0, sent: [],
    send(message, _, buffers = []) { this.sent.push(buffers.length ? { ...message, buffers: buffers.map(carried) } : message); },
    hear(message) { (hearers["msg:custom"] ?? []).forEach((f) => f(message)); },
    get: (key) => state[key],
    set(key, value) { state[key] = value; (hearers["change:" + key] ?? []).forEach((f) => f()); },
    on: (event, f) => { (hearers[event] ??= []).push(f); },
    off: (event, f) => { hearers[event] = (hearers[event] ?? []).filter((g) => g !== f); },
    save_changes() { this.saved += 1; },
  };
}
"""


def page(kind: str, states: list[dict], theme: str = "light", model: str = MODEL) -> str:
    """HTML of a page with one widget per state (its traits); `models` and `stops`, what each render returned, are the window's."""
    mounts = "".join(
        f'<div class="bim-mount" data-kind="{kind}" data-state="{escape(json.dumps(state, default=Spec.as_json))}"></div>'
        for state in states
    )
    return f"""<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8"><title>{kind}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{FONT}{stylesheet(kind)}
body {{ margin: 0 auto; padding: 16px; max-width: 880px; background: var(--bim-page); color: var(--bim-ink); }}</style></head>
<body><main><h1 style="font: 600 20px var(--bim-font-ui)">{kind}</h1>{mounts}</main><script>{model}
{plain_script(VIEW / kind / f"{kind}.mjs", kind)}
window.models = []; window.stops = [];
for (const el of document.querySelectorAll(".bim-mount")) {{
  if (location.search.includes("manual")) el.dataset.clock = "manual";
  models.push(makeModel(JSON.parse(el.dataset.state)));
  stops.push(BytesInMotion.widget.render({{ model: models.at(-1), el }}));
}}
</script></body></html>"""


def known(kind: str) -> dict:
    """What the site tells a widget of that kind before it is drawn."""
    page = table.line(kind).page
    return {name: value() for name, value in (page.KNOWS | getattr(page, "LATER", {})).items()}


def answers(page) -> None:
    """What the page's widgets ask of Python, this process answers: `helpers.view` in the page itself is test_yours_browser's."""

    def answered(path: str, args: list) -> dict:
        module, _, name = path.partition(":")
        given = [b64decode(one["bytes"]) if isinstance(one, dict) else one for one in args]
        return {"value": json.loads(getattr(import_module(module), name)(*given))}

    if not page.evaluate("'answered' in window"):
        page.expose_function("answered", answered)


def write(path: Path, kind: str, states: list[dict], theme: str = "light", model: str = MODEL) -> str:
    """Writes the page and returns its file:// address."""
    path.write_text(page(kind, states, theme, model), encoding="utf-8")
    return path.resolve().as_uri()


# The cells of a table under a widget have their colours from their classes: the contrast of the first of a kind tells of all.
ALIKE = """() => {
    const seen = new Set();
    const within = (one) => (one ? `${one.localName}.${one.getAttribute("class")}<${within(one.parentElement)}` : "");
    for (const cell of document.querySelectorAll("details :is(td, th)"))
        if (seen.size === seen.add(within(cell)).size) cell.dataset.seen = "";
    axe.configure({ rules: [{ id: "color-contrast", selector: ":not([data-seen])" }] });
}"""


def violations(page, only: dict | None = None) -> list:
    """What axe finds against WCAG 2.0 to 2.2, A and AA; or by `only` (axe's runOnly)."""
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(content=AXE)
    page.evaluate(ALIKE)
    options = {"runOnly": only or WCAG, "resultTypes": ["violations"], "preload": False}  # no sheet is asked for again
    if not only:
        options["rules"] = {"label-content-name-mismatch": {"enabled": True}}
    return page.evaluate(
        "options => axe.run(document, options)"
        ".then((all) => all.violations.map((v) => [v.id, v.nodes.map((n) => n.target.join(' '))]))",
        options,
    )


def violations_in_both_themes(page) -> list:
    """All that axe finds in the page's theme; in the other one, put on in place, what a colour can change."""
    found = violations(page)
    page.evaluate(
        "document.documentElement.dataset.theme = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'"
    )
    return found + violations(page, OF_THEMES)


CUT = """() => [...document.querySelectorAll(".bim-view svg text, .bim-lines text")].filter((text) => {
    const [word, sheet] = [text, text.ownerSVGElement].map((one) => one.getBoundingClientRect());
    return word.left < sheet.left - 1 || word.right > sheet.right + 1;
}).map((text) => text.textContent)"""


def narrow(page, width: int = 375) -> None:
    """The page in place on a telephone, when its widgets have heard of it."""
    resized(page, {"width": width, "height": 900})


def resized(page, size: dict) -> None:
    """The page in another size, when its widgets have heard of it and are drawn anew."""
    page.set_viewport_size(size)
    page.wait_for_function("(width) => innerWidth === width", arg=size["width"])  # on a busy machine some frames later
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


HEAD = 56  # pixels of the site's own bar, always on the screen
SCREENS = {1366: 660, 375: 667}  # a small laptop and a telephone
AT_HAND = """async ([head, panels]) => {
    const found = [];
    for (const deck of document.querySelectorAll(".bim-deck")) {
        scrollTo({ top: scrollY + deck.getBoundingClientRect().top - head, behavior: "instant" });
        for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
        const bar = deck.querySelector(".bim-transport").getBoundingClientRect();
        const { left, top } = deck.querySelector(".bim-play").getBoundingClientRect();
        const play = document.elementFromPoint(left + 22, top + 18)?.closest(".bim-play") && bar.bottom <= innerHeight;
        const hidden = [...deck.querySelectorAll(panels)].filter((one) => one.getBoundingClientRect().bottom > bar.top + 1);
        const told = deck.querySelector(".bim-sentence").getBoundingClientRect();
        const first = deck.querySelector(".bim-view").getBoundingClientRect().top;
        const said = innerWidth > 520 || (told.top >= head - 1 && told.bottom <= first);
        found.push([Boolean(play && said), hidden.map((one) => one.className)]);
    }
    return found;
}"""


def assert_on_one_screen(page, wide: str = ".bim-panel", narrow: str | None = None) -> None:
    """Play, on a telephone the sentence, and the whole stage are in view together; or of the stage the panels that the selectors name."""
    size = page.viewport_size
    for (width, height), panels in zip(SCREENS.items(), [wide, narrow or wide], strict=True):
        resized(page, {"width": width, "height": height})
        found = page.evaluate(AT_HAND, [HEAD, panels])
        assert found and all(one == [True, []] for one in found), f"{width} x {height}: {found}"
    resized(page, size)
