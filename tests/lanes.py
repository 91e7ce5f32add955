"""How the suite is divided: lanes (`faults`, `alone`, `matrix`), shards, the heaviest files first, and a tally of what was left out."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

# Seconds of CPU by file, measured once; only their proportion matters
WEIGHTS = Path(__file__).with_name("weights.toml")
LIGHT = 0.02  # seconds of a test whose file is not named there
# Files whose tests may go to different workers one by one; of all others each file stays in one, with its fixtures.
SPREAD = ("tests/site/test_pages.py",)
OWN_LANE = ("faults", "alone")
TRAINS, COMPILER = "helpers.parallel", "torch._dynamo"  # the ranks of a lab that names the one import the other
# Kinds of widgets that `make test` moves by a key, apart; the others are pressed on a page (tests/site/test_pages.py).
MOVED_BY_A_KEY = (
    *("player", "primitive", "segments", "occupancy", "warp", "clock"),
    *("choice", "pipeline", "routing", "published", "mesh"),
)
KERNEL = ("ipykernel.kernelapp", "ipykernel.ipkernel", "plotly.graph_objects", "anywidget")


def pytest_addoption(parser):
    group = parser.getgroup("suite")
    group.addoption("--shard", metavar="I/N", default="1/1", help="only the I-th of N shares of equal weight")
    group.addoption(
        "--matrix", action="store_true", help="also what only `make test-all` runs (left out but for -m or a name)"
    )
    group.addoption("--tally", metavar="FILE", help="write counts, and what was left out and why, as JSON")


def file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def group_of(nodeid: str) -> str:
    """What stays together in one worker and in one shard."""
    return nodeid if file_of(nodeid) in SPREAD else file_of(nodeid)


def weigh(nodeids: Iterable[str], known: dict[str, float]) -> dict[str, float]:
    """Seconds by group, the heaviest first; equal ones by name."""
    nodeids = list(nodeids)
    tests, groups = Counter(map(file_of, nodeids)), Counter(map(group_of, nodeids))
    each = {file: known[file] / number if file in known else LIGHT for file, number in tests.items()}
    seconds = {group: each[file_of(group)] * number for group, number in groups.items()}
    return dict(sorted(seconds.items(), key=lambda item: (-item[1], item[0])))


def shares(weights: dict[str, float], n: int) -> list[list[str]]:
    """The groups in n shares: in the order given, each to the share that has least so far."""
    found, filled = [[] for _ in range(n)], [0.0] * n
    for group, seconds in weights.items():
        least = filled.index(min(filled))
        found[least].append(group)
        filled[least] += seconds
    return found


def some(values: Iterable, kept: Iterable, why: str) -> list:
    """`values` for parametrize: those in `kept` are for `make test`, the others, for the reason given, for `make test-all` alone."""
    values, kept = list(values), list(kept)
    assert kept and all(value in values for value in kept), kept
    return [value if value in kept else pytest.param(value, marks=pytest.mark.matrix(why)) for value in values]


def some_rows(values: Iterable[tuple], kept: Iterable[tuple], why: str) -> list:
    """`some` where each value is a row: one for every name that parametrize is given."""
    marked = some(values, kept, why)
    return [pytest.param(*one.values[0], marks=one.marks) if hasattr(one, "marks") else one for one in marked]


def read_shard(text: str) -> tuple[int, int]:
    """ "2/4" -> (2, 4). Raises UsageError."""
    i, _, n = text.partition("/")
    if not (i.isdigit() and n.isdigit() and 1 <= int(i) <= int(n)):
        raise pytest.UsageError(f"a shard is I/N with 1 <= I <= N, got {text!r}")
    return int(i), int(n)


def pytest_configure(config):
    config.tally = {"left out": {}, "other shards": 0, "GPU tests": [0, 0], "Firefox tests": [0, 0], "left behind": []}
    config.tally["by torch"] = 0
    read_shard(config.getoption("shard"))
    named = any("::" in str(one) for one in config.args)
    if not (config.option.markexpr or config.getoption("matrix") or named):
        config.option.markexpr = "not matrix"  # `pytest tests/parallel` is what `make test` runs of it


def pytest_deselected(items):
    for item in items:
        spelled_out(item)
        if marker := item.get_closest_marker("matrix"):
            left_out = item.config.tally["left out"]
            left_out[marker.args[0]] = left_out.get(marker.args[0], 0) + 1


def spelled_out(item) -> None:
    """A lane of its own is given the files that name its marker: one that came otherwise would run nowhere. Raises UsageError."""
    for lane in OWN_LANE:
        if item.get_closest_marker(lane) and f"pytest.mark.{lane}" not in item.path.read_text():
            raise pytest.UsageError(f"{item.nodeid} is in the lane {lane!r}: write pytest.mark.{lane} in its file")


@pytest.hookimpl(trylast=True)  # after -m, so that a lane's shards are shares of that lane
def pytest_collection_modifyitems(config, items):
    weights = weigh((item.nodeid for item in items), tomllib.loads(WEIGHTS.read_text())["seconds"])
    i, n = read_shard(config.getoption("shard"))
    mine = set(shares(weights, n)[i - 1])
    config.tally["other shards"] = sum(group_of(item.nodeid) not in mine for item in items)
    rank = {group: place for place, group in enumerate(weights)}
    items[:] = [item for item in items if group_of(item.nodeid) in mine]
    items.sort(key=lambda item: rank[group_of(item.nodeid)])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    config.option.loadscopereorder = False  # the heaviest first, as collected
    return ByGroup(config, log)


@cache
def loaded(lab: Path) -> tuple[str, ...]:
    """What a lab's kernel finds imported besides torch, by the process that it is forked from: once for all labs. None of it is ours."""
    return (*KERNEL, COMPILER) if TRAINS in lab.read_text() else KERNEL


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """A notebook's kernel starts with its first cell."""
    if file_of(item.nodeid).endswith(".ipynb"):
        import warm_kernels  # other Pythons have no kernels

        with warm_kernels.forked(loaded(item.path)):
            return (yield)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session):
    """A worker's tally goes to the session that started it."""
    yield
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["tally"] = session.config.tally


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """Every worker collects everything, so one's counts are all's; what it left behind is its own."""
    theirs = getattr(node, "workeroutput", {}).get("tally", {})
    left_behind = node.config.tally["left behind"] + theirs.get("left behind", [])
    node.config.tally |= theirs | {"left behind": left_behind}


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("tally"):
        seconds: Counter = Counter()
        for reports in terminalreporter.stats.values():
            for report in reports:
                if hasattr(report, "duration"):
                    seconds[file_of(report.nodeid)] += round(report.duration, 3)
        counts = {kind: len(found) for kind, found in terminalreporter.stats.items() if kind and kind != "deselected"}
        told = config.tally | {"counts": counts, "seconds": dict(seconds.most_common())}
        Path(config.getoption("tally")).write_text(json.dumps(told, indent=1))
