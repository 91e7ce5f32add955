"""A pytest plugin: the tests that a list names, in its order, and a line about each to a file as soon as it is known.

BYTES_IN_MOTION_TESTS=list.json BYTES_IN_MOTION_SAID=said.jsonl python -m pytest -p judging FILES
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import functions_reached
import pytest

LIST, SAID = "BYTES_IN_MOTION_TESTS", "BYTES_IN_MOTION_SAID"


def say(**line) -> None:
    with Path(os.environ[SAID]).open("a") as file:
        file.write(json.dumps(line) + "\n")


def pytest_collection_modifyitems(config, items):
    """Last of all, so that the list has the last word on the order."""
    if os.environ.get(LIST):
        place = {test: index for index, test in enumerate(json.loads(Path(os.environ[LIST]).read_text()))}
        items[:] = sorted((item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid])
    say(collected=len(items))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    folder = os.environ.get(functions_reached.FOLDER)
    if folder:
        number = functions_reached.number_file(folder)
        number[0] += 1
    say(test=item.nodeid, began=time.time(), number=number[0] if folder else 0)
    return (yield)


def pytest_runtest_logreport(report):
    say(test=report.nodeid, when=report.when, outcome=report.outcome, seconds=round(report.duration, 4))
