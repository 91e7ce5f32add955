"""Where the links of a page end, and what moves there by itself."""

import re
from pathlib import Path

OFF = 10  # pixels that a link may end beside its place
ROOM = 2  # pixels that a widget may be higher or lower than its room
SHIFT = 0.02  # of layout, as browsers count it, that a page may have
WATCH_LANDINGS = """() => {
    const root = document.documentElement;
    const frame = () => new Promise(requestAnimationFrame);
    const named = (hash) => {
        const [, kind, n] = /^#(\\w+)-(\\d+)--/.exec(hash) ?? [];
        return kind ? document.querySelectorAll(`.bim-mount[data-kind="${kind}"]`)[n] : document.getElementById(hash.slice(1));
    };
    const wakes = (mount) => {
        const { top, bottom } = mount.getBoundingClientRect();
        return top < innerHeight && bottom > 0 && !("mounted" in mount.dataset);
    };
    // Pixels between where the page stands and where it ought to: the place right under the head, as far as the page reaches.
    const off = (hash) => {
        const top = named(hash).getBoundingClientRect().top + scrollY - parseFloat(getComputedStyle(root).scrollPaddingTop);
        return Math.abs(scrollY - Math.min(Math.max(0, top), root.scrollHeight - innerHeight));
    };
    const still = async (hash) => {
        const late = performance.now() + 10_000;
        for (let calm = 0, before = NaN; calm < 3; ) {
            await frame();
            calm = scrollY === before && ![...document.querySelectorAll(".bim-mount")].some(wakes) ? calm + 1 : 0;
            before = scrollY;
            if (performance.now() > late) throw new Error(`${hash}: not still after ten seconds`);
        }
        return off(hash);
    };
    const follow = async (hash) => {
        history.replaceState(null, "", "#"); // so that also the link by which the page was opened is a change
        const heard = new Promise((done) => addEventListener("hashchange", done, { once: true }));
        location.hash = hash;
        await heard;
        return still(hash);
    };
    // The links that the page makes: each widget's own, as it is copied.
    const copied = () => {
        const tools = [...document.querySelectorAll(".bim-mount .bim-tool")].filter((tool) => tool.textContent === "Copy link");
        return tools.map((tool) => {
            tool.click();
            const { hash } = location;
            history.replaceState(null, "", "#");
            return hash;
        });
    };
    window.landings = { still, follow, copied };
}"""


def last_places(html: Path) -> list[str]:
    """The page's last section, and where it has widgets the last of them, as the ends of links."""
    text = html.read_text(encoding="utf-8")
    kinds = [kind for kind in re.findall(r'class="bim-mount" data-kind="(\w+)"', text) if kind != "chart"]
    widget = [f"#{kinds[-1]}-{kinds.count(kinds[-1]) - 1}--"] if kinds else []
    return ["#" + re.findall(r'<section\b[^>]* id="([^"]+)"', text)[-1], *widget]


def watch_landings(page) -> None:
    """What the other functions ask the page."""
    page.evaluate(WATCH_LANDINGS)


def assert_landed(page, where: str) -> None:
    """The link by which the page was opened has ended at its place, when everything there is alive."""
    watch_landings(page)
    off = page.evaluate("landings.still(decodeURI(location.hash))")
    assert off <= OFF, f"{where}: {off} pixels beside its place"


def assert_all_land(page, links: list[str], where: str) -> None:
    """Every link, one after the other, from the page's end, so that what lies above is not alive yet when it is first seen."""
    offs = {link: page.evaluate("landings.follow", link) for link in reversed(links)}
    wrong = {link: off for link, off in offs.items() if off > OFF}
    assert not wrong, f"{where}: pixels beside the place: {wrong}"


def assert_links_land(page, where: str) -> None:
    """Every link of the contents."""
    links = page.locator(".bim-contents a")
    assert_all_land(page, links.evaluate_all("links => links.map(({ hash }) => hash)"), where)


def assert_copied_links_land(page, where: str) -> None:
    """The link of each widget, as it is copied."""
    hashes = page.evaluate("landings.copied()")
    assert_all_land(page, hashes, where)
    kinds = page.locator(".bim-mount").evaluate_all("mounts => mounts.map(({ dataset }) => dataset.kind)")
    assert len(hashes) == len([kind for kind in kinds if kind != "chart"])


ROOMS = """() => [...document.querySelectorAll(".bim-mount")].map((mount) => {
    const kept = parseFloat(getComputedStyle(mount).getPropertyValue("--bim-room"));
    return [mount.dataset.kind, kept, mount.offsetHeight];
})"""
MOVED = """() => new Promise((done) => {
    const shifts = [];
    new PerformanceObserver((list) => shifts.push(...list.getEntries())).observe({ type: "layout-shift", buffered: true });
    setTimeout(() => done(shifts.filter((one) => !one.hadRecentInput).reduce((sum, { value }) => sum + value, 0)), 50);
})"""


def assert_rooms(page, where: str) -> None:
    """Every widget and chart is as high as the room that the page kept for it."""
    wrong = [room for room in page.evaluate(ROOMS) if abs(room[1] - room[2]) > ROOM]
    assert not wrong, (
        f"{where}: kind, pixels kept, pixels needed: {wrong}; `python -m tools.heights` measures them again"
    )


def assert_unmoved(page, where: str) -> None:
    """The page's layout shift, from its first paint until now."""
    assert page.evaluate(MOVED) < SHIFT, where
