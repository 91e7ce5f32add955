"""A tab of the browser that one test after the other opens its page in: a context for each would cost a second and a half of CPU."""

from collections.abc import Iterator
from contextlib import contextmanager

FORGET = "() => { try { localStorage.clear(); sessionStorage.clear(); } catch {} }"  # about:blank has no storage


class Tab:
    """A page in a context of its own; options: that context's.

    A document is always loaded anew, past the cache, and nothing of the last one stays: its scripts end with it, and size, media,
    pointer, storage and routes are set back when a test leaves.
    """

    def __init__(self, browser, **options):
        context = browser.new_context(**options)
        self.page = context.new_page()
        if is_chromium(browser):  # a Firefox is started without a cache (firefox.py)
            context.new_cdp_session(self.page).send("Network.setCacheDisabled", {"cacheDisabled": True})

    def show(self, width: int, height: int = 900, motion: str = "no-preference", theme: str = "light"):
        """The page, empty yet, in that size and with what the reader prefers."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(media="null", reduced_motion=motion, color_scheme=theme)
        return self.page

    def leave(self) -> None:
        """The document ends, and the pointer rests where no widget is."""
        self.page.mouse.up()
        self.page.evaluate(FORGET)
        self.page.goto("about:blank")
        self.page.mouse.move(0, 0)
        self.page.unroute_all()

    def close(self) -> None:
        self.page.context.close()


@contextmanager
def kept() -> Iterator[list]:
    """Takes the tabs of a browser, as many as a test has opened at once so far, and closes them at the end."""
    found: list[Tab] = []
    yield found
    for tab in found:
        tab.close()


def is_chromium(browser) -> bool:
    return browser.browser_type.name == "chromium"


def until(page, condition: str, arg=None, seconds: float = 30.0) -> None:
    """Wait frame by frame until `condition`, a JavaScript function of `arg`, is true. Error naming it after `seconds`.

    Playwright's wait_for_function spells its condition anew for every look, which a page whose policy forbids eval refuses from the
    second look on: there it would wait only for what is there already.
    """
    page.evaluate(
        f"""([arg, deadline]) => new Promise((done, fail) => {{
            const holds = {condition}, since = performance.now();
            const look = () => holds(arg) ? done()
                : performance.now() - since > deadline ? fail(new Error(`still not true: ${{holds}}`))
                : requestAnimationFrame(look);
            look();
        }})""",
        [arg, seconds * 1000],
    )
