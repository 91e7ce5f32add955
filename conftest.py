"""For nbval, wherever it is started: labs plot the recorded runs, and what a cell's tag `by-ranks` means.

Its output tells on how many ranks the lab runs, or on what device: compared where these are as in the stored outputs, run everywhere.
"""

import os

import pytest

RECORDED = "BYTES_IN_MOTION"  # labs plot the recorded runs; the library's own tests know nothing of them


def pytest_configure(config):
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
