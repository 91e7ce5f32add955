"""Books built once, served gzipped on 127.0.0.1."""

import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from books import ROOT, build_or_fail, make_sample
from pages import Watch
from serving import served


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


@pytest.fixture
def open_page(browser):
    """open_page(home, path, theme=, width=, height=, **context) -> (page, watch), loaded."""
    contexts = []

    def open_it(home: str, path: str, theme: str = "light", width: int = 1280, height: int = 900, **options):
        viewport = {"width": width, "height": height}
        context = browser.new_context(viewport=viewport, color_scheme=theme, **options)
        contexts.append(context)
        page, watch = context.new_page(), Watch(home)
        watch.on(page)
        page.goto(f"{home}/{path}")
        return page, watch

    yield open_it
    for context in contexts:
        context.close()
