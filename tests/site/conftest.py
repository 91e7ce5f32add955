"""Books built once, served gzipped on 127.0.0.1."""

import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from books import ROOT, build_or_fail, make_sample
from pages import Watch
from serving import served
from tabs import Tab, kept


def once(tmp_path_factory, name: str, build: Callable[[Path], Path]) -> Path:
    """What `build` makes in a new folder: by the first worker that wants it, for all workers of a run."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return build(tmp_path_factory.mktemp(name))
    shared = tmp_path_factory.getbasetemp().parent
    with (shared / f"{name}.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        if not (built := lock.read()):
            built = str(build(tmp_path_factory.mktemp(name)))
            lock.write(built)
    return Path(built)


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The real book, built from nothing."""
    return once(tmp_path_factory, "site", lambda folder: build_or_fail(ROOT, folder))


@pytest.fixture(scope="session")
def sample(tmp_path_factory) -> Path:
    """The sample book."""
    return once(tmp_path_factory, "sample", lambda folder: build_or_fail(make_sample(folder / "book"), folder / "out"))


@pytest.fixture(scope="session")
def site_address(site) -> Iterator[str]:
    """Where the real book is served."""
    with served(site) as address:
        yield address


@pytest.fixture(scope="session")
def sample_address(sample) -> Iterator[str]:
    """Where the sample book is served."""
    with served(sample) as address:
        yield address


@pytest.fixture
def address(request) -> Callable[[str], str]:
    """address("site") or address("sample"): where it is served."""
    return lambda book: request.getfixturevalue(f"{book}_address")


@pytest.fixture(scope="session")
def tabs(browser) -> Iterator[list[Tab]]:
    """Chromium's."""
    with kept() as found:
        yield found


@pytest.fixture(scope="session")
def firefox_tabs(firefox) -> Iterator[list[Tab]]:
    """Firefox's."""
    with kept() as found:
        yield found


@pytest.fixture
def open_page(browser, tabs):
    """open_page(home, path, theme=, width=, height=, reduced_motion=, **context) -> (page, watch), loaded.

    With options that only a new context can be given it gets one.
    """
    yield from opening(browser, tabs)


@pytest.fixture
def open_in_firefox(firefox, firefox_tabs):
    """The same in Firefox, where motion is always reduced and the first theme light."""
    yield from opening(firefox, firefox_tabs)


def opening(browser, tabs):
    opened, own, heard = [], [], []

    def tab_for(options: dict) -> Tab:
        if options:
            own.append(Tab(browser, **options))
            return own[-1]
        if len(opened) == len(tabs):
            tabs.append(Tab(browser))
        opened.append(tabs[len(opened)])
        return opened[-1]

    def open_it(home: str, path: str, theme="light", width=1280, height=900, reduced_motion="no-preference", **options):
        tab, watch = tab_for(options), Watch(home)
        page = tab.show(width, height, reduced_motion, theme)
        watch.on(page)
        heard.append((page, watch))
        page.goto(f"{home}/{path}")
        return page, watch

    yield open_it
    for page, watch in heard:
        watch.off(page)
    for tab in own:
        tab.close()
    for tab in opened:
        tab.leave()
