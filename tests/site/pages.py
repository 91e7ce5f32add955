"""What the browser tests look at: what a page did that it must not, and whether its mounts live."""

from collections.abc import Callable
from dataclasses import dataclass, field

from playwright.sync_api import Page
from tabs import until

from helpers.view.widgets import PAGE, line

KB = 1000
LEFT = "net::ERR_ABORTED"  # what was still under way when the reader went on to the next page
CHART = 800 * KB  # gzipped, before anybody touches the page; a widget's budget stands in its line of the table


@dataclass
class Watch:
    """What a page did that it must not do, and how many bytes it took over the wire."""

    home: str
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    finished: list = field(default_factory=list)

    def on(self, page: Page) -> None:
        """Listen to the page; what leaves home finds no way (conftest.py starts the browser so) and is written down."""
        for event, heard in self._hearing().items():
            page.on(event, heard)

    def off(self, page: Page) -> None:
        """Listen no more."""
        for event, heard in self._hearing().items():
            page.remove_listener(event, heard)

    def _hearing(self) -> dict[str, Callable]:
        return {
            "console": self._console,
            "pageerror": self._error,
            "requestfailed": self._failed,
            "response": self._answered,
            "requestfinished": self._finished,
            "request": self._asked,
        }

    def _console(self, message) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def _error(self, error) -> None:
        self.errors.append(str(error))

    def _failed(self, request) -> None:
        if request.failure != LEFT:
            self.failed.append(request.url)

    def _answered(self, reply) -> None:
        if reply.status >= 400:
            self.failed.append(reply.url)

    def _finished(self, request) -> None:
        self.finished.append(request)

    def _asked(self, request) -> None:
        self.asked.append(request.url)
        if not request.url.startswith((self.home, "data:", "blob:")):
            self.outside.append(request.url)

    def sizes(self) -> dict[str, int]:
        """Bytes over the wire by address."""
        found = {request.url: request.sizes() for request in self.finished}
        return {url: size["responseBodySize"] + size["responseHeadersSize"] for url, size in found.items()}

    def assert_clean(self, where: str) -> None:
        """Nothing from outside, nothing failed, no error."""
        assert (self.outside, self.failed, self.errors) == ([], [], []), where


READ = """async () => {
    for (const mount of document.querySelectorAll(".bim-mount")) {
        const late = performance.now() + 10_000;
        mount.scrollIntoView({ block: "center", behavior: "instant" });
        while (!("mounted" in mount.dataset)) {
            if (performance.now() > late) throw new Error(`a ${mount.dataset.kind} is not alive after ten seconds`);
            await new Promise((next) => setTimeout(next, 10));
        }
    }
    await document.fonts.ready;
    scrollTo({ top: 0, behavior: "instant" }); // a page under way hides links behind its head
}"""


def read_through(page: Page) -> None:
    """Scroll to the end as a reader would, until every mount is alive and every letter has its font, then return to the top."""
    page.evaluate(READ)


SIGNED = """() => [...document.querySelectorAll(".bim-sideways, .bim-text pre")]
    .filter((box) => box.checkVisibility() && box.scrollWidth > box.clientWidth + 1) // what is folded has no edge yet
    .map((box) => box.dataset.cut)"""


def assert_what_is_cut_has_an_edge(page: Page) -> None:
    """Every box that has more than it shows says so."""
    assert set(page.evaluate(SIGNED)) <= {"right"}


READING = """() => [...document.querySelectorAll(".bim-contents [aria-current]")]
    .map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))).getBoundingClientRect())
    .filter(({ top, bottom }) => top > 0.4 * innerHeight || bottom < 80)"""


def assert_contents_tell_what_is_read(page: Page) -> None:
    """The section that the contents mark is in the upper part of the window; at the page's head there may be none."""
    until(page, f"() => ({READING})().length === 0")  # the browser tells what is in the window a frame later


SCREENS = {1280: 660, 375: 667}  # pixels of a window's height: a small laptop's, a telephone's
HEAD = 56  # of the page's own bar
DECKS = """() => [...document.querySelectorAll(".bim-player .bim-deck")]
    .filter((deck) => deck.querySelectorAll(".bim-time").length === 1 && deck.querySelectorAll(".bim-topology .bim-badge").length <= 8)
    .map((deck) => deck.offsetHeight - (innerWidth > 520 ? deck.querySelector(".bim-sentence").offsetHeight : 0))"""


def assert_players_fit_a_screen(page: Page) -> None:
    """Stage and transport bar, on a telephone with the sentence, of a player of one schedule on eight ranks or fewer, and not recorded."""
    size = SCREENS[page.viewport_size["width"]] - HEAD
    assert [height for height in page.evaluate(DECKS) if height > size] == []


WORDS = """() => [...document.querySelectorAll(".bim-chart")].flatMap((chart) => {
    const edge = chart.getBoundingClientRect();
    const texts = [...chart.querySelectorAll(".bim-ends text, .bim-points text")];
    const all = texts.map((text) => [text.textContent, text.getBoundingClientRect()]);
    const wide = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = (a, b) => Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    const on = all.flatMap(([a, box], i) =>
        all.slice(i + 1).filter(([, other]) => wide(box, other) > 2 && high(box, other) > 4).map(([b]) => `${a} on ${b}`));
    const over = all.filter(([, box]) => box.left < edge.left - 2 || box.right > edge.right + 2);
    return [...on, ...over.map(([a]) => `${a} over the edge`)];
})"""


def assert_words_of_charts_apart(page: Page) -> None:
    """Names at lines' ends and words at points: none lies on another, none leaves its chart."""
    assert page.evaluate(WORDS) == []


HATCHED = """() => [...document.querySelectorAll(".bim-mount[data-mounted]:has(.bim-chart)")].flatMap((mount) => {
    const [{ data }] = mount.getElementsByClassName("bim-chart");
    const hatched = new Set(data.filter(({ marker }) => marker?.pattern?.shape).map(({ name }) => name));
    return [...mount.querySelectorAll(".bim-key > *")]
        .filter((entry) => hatched.has(entry.textContent) !== Boolean(entry.querySelector("path[fill=none]")))
        .filter((entry) => data.some(({ name, type }) => name === entry.textContent && type === "bar"))
        .map((entry) => entry.textContent);
})"""


def assert_keys_show_patterns(page: Page) -> None:
    """A bar that is hatched is so in its chart's key, and no other."""
    assert page.evaluate(HATCHED) == []


def assert_within_budget(page: Page, watch: Watch) -> None:
    """Everything that the page loaded so far, over the wire, against the budget of the heaviest thing on it."""
    page.wait_for_load_state("networkidle")
    kinds = set(page.locator(".bim-mount").evaluate_all("mounts => mounts.map((mount) => mount.dataset.kind)"))
    budget = max(PAGE, *(CHART if kind == "chart" else line(kind).page_budget for kind in kinds), 0)
    sizes = watch.sizes()
    heaviest = sorted(sizes.items(), key=lambda item: -item[1])[:5]
    assert 20 * KB < sum(sizes.values()) <= budget, f"budget {budget}; {heaviest}"
