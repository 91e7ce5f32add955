"""For every test and lab: GPUs and a Firefox that are missing are named and counted; no process of ours outlives the session.

Here, and not in tests/, since pytest loads what stands above its arguments: a lab by itself is given the same options and guards. For
nbval, wherever it is started, labs plot the recorded runs. The output of a cell with the tag `by-ranks` tells on how many ranks the lab
runs, or on what device: compared where these are as in the stored outputs, run everywhere.
"""

import contextlib
import gc
import os
import sys
import uuid
from pathlib import Path

import by_torch
import lanes
import pytest
from leftovers import SESSION, leftovers

ROOT = Path(__file__).resolve().parent

RECORDED = "BYTES_IN_MOTION"  # labs plot the recorded runs; the library's own tests know nothing of them

with contextlib.suppress(ImportError):  # on other Pythons only what they need is installed
    from hypothesis import HealthCheck, settings

    # How long one example took says how busy the machine was, not whether the library is right.
    settings.register_profile("busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("busy machine")

HOME_ONLY = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"  # nothing finds its way out


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of the browser that the page tests drive; a missing one fails the test with what to install."""
    from tools import browser

    try:
        return browser.find()
    except browser.NoBrowser as missing:
        pytest.fail(str(missing), pytrace=False)


@pytest.fixture(scope="session")
def playwright():
    """The one of all page tests: its loop cannot be entered twice in a process."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright, chromium):
    """The one Chromium of all page tests."""
    from tools.browser import FLAGS

    launched = playwright.chromium.launch(executable_path=chromium, args=[*FLAGS, HOME_ONLY])
    yield launched
    launched.close()


@pytest.fixture(scope="session")
def firefox(playwright, tmp_path_factory):
    """The one Firefox of the tests that are marked `firefox`."""
    import firefox

    from tools import browser

    launched = firefox.launch(playwright, browser.find(browser.FIREFOX), tmp_path_factory.mktemp("firefox"))
    yield launched
    launched.close()


def gpu_count() -> int:
    """CUDA GPUs that torch can use here; asked only when a test wants one."""
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def pytest_addoption(parser, pluginmanager):
    pluginmanager.register(lanes)
    pluginmanager.register(by_torch)


def pytest_configure(config):
    """Each worker of a parallel run is a session of its own here, and answers for what it starts."""
    os.environ[SESSION] = uuid.uuid4().hex
    if config.pluginmanager.hasplugin("nbval") and not _as_stored():
        from nbval.plugin import metadata_tags

        metadata_tags["by-ranks"] = ("check", False)


def _as_stored() -> bool:
    """Would a lab run here on what its stored outputs came from: four ranks on the CPU?"""
    from helpers.ranks.machine.devices import plan  # other Pythons have no helpers

    world = plan()
    return (world.nranks, world.backend, world.note) == (4, "gloo", "")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    if item.nodeid.partition("::")[0].endswith(".ipynb"):
        os.environ.setdefault(RECORDED, "recorded")
    else:
        os.environ.pop(RECORDED, None)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """What is collected stays to the end: to look through it for garbage takes every worker four seconds, and its tests some more."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)  # of those that are left
def pytest_collection_modifyitems(config, items):
    wanting = [(item, marker) for item in items if (marker := item.get_closest_marker("gpus"))]
    here = gpu_count() if wanting else 0
    missing = [(item, marker.args[0]) for item, marker in wanting if marker.args[0] > here]
    for item, needed in missing:
        item.add_marker(pytest.mark.skip(reason=f"needs {needed} GPU{'s' * (needed > 1)}"))
    config.tally["GPU tests"] = [len(missing), len(wanting)]
    config.tally["Firefox tests"] = without_firefox([item for item in items if item.get_closest_marker("firefox")])


def without_firefox(wanting: list) -> list[int]:
    """How many of the tests that want Firefox do without, which are skipped, and how many want it."""
    if not wanting:
        return [0, 0]
    from tools import browser

    try:
        browser.find(browser.FIREFOX)
    except browser.NoBrowser as missing:
        for item in wanting:
            item.add_marker(pytest.mark.skip(reason=str(missing)))
        return [len(wanting), len(wanting)]
    return [0, len(wanting)]


@pytest.hookimpl(trylast=True)  # when the workers have ended
def pytest_sessionfinish(session):
    if warm := sys.modules.get("warm"):  # its process with torch in it, which a test or a lab has started
        warm.end()
    tally = session.config.tally
    tally["left behind"] += leftovers(os.environ[SESSION])
    if tally["left behind"]:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    skipped, wanted = config.tally["GPU tests"]
    if wanted:
        here = f"{gpu_count()} GPUs here" if gpu_count() else "no GPU here"
        terminalreporter.write_line(f"GPU tests skipped: {skipped} of {wanted} ({here})")
    skipped, wanted = config.tally["Firefox tests"]
    if skipped:
        terminalreporter.write_line(f"Firefox tests skipped: {skipped} of {wanted} (it is not here)")
    if config.tally["left behind"]:
        terminalreporter.section("processes left behind", red=True)
        for line in config.tally["left behind"]:
            terminalreporter.write_line(line)
