"""`make test` and `make test-all`: style, what workers can share, faults a few at a time, what must be alone; and at the end a table.

`python -m tools.suite test|all [--shard I/N]`, in the repository's .venv. A lane that fails stops no other.
The exit status is 1 when one failed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
# A worker waits now and then, for a rank that starts or a page that settles: one more than there are cores. Each starts four ranks,
# and with two more they turn to each other: paired on two cores, labs, strategies and pages took 109 s with four and 99 with three.
WORKERS = min(4, 1 + (os.cpu_count() or 1))
BREAKING = 3  # workers of the lane `faults`: deadlines of a second bear no more
# Containers set it to stay small: then each of a thousand processes would compile the library again.
NO_CACHE = "PYTHONDONTWRITEBYTECODE"
STYLE = (("ruff", "check", "."), ("ruff", "format", "--check", "."), ("mypy",), ("codespell_lib",))
NBVAL = ("--nbval", "--nbval-current-env", "--nbval-cell-timeout=120")
# Labs by number of ranks, besides the one of their stored outputs.
NUMBERS: dict[str, dict[int, tuple[str, ...]]] = {
    "test": {2: ("primitives.ipynb", "units.ipynb")},
    "all": {1: ("",), 2: ("",), 8: ("",)},
}
NO_TESTS = 5  # pytest's exit status when nothing was left to run
SLOWEST = "--durations=10"
WHERE = {"test": "make test-all", "gpu": "make gpu-check", "Firefox": "make test as root on Debian, or install it"}
SHOWN = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")


def in_long_turns() -> None:
    """Where the system has such a policy, a process is not stopped for one that wakes: ranks then change places less often.

    Worth a twentieth of a run; tests of time do without.
    """
    if hasattr(os, "SCHED_BATCH"):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


class Lane(NamedTuple):
    """Some of the tests, run by one pytest. begins: called in its process before that. nranks: of labs, where none says how many."""

    name: str
    pytest: tuple[str, ...]
    begins: Callable[[], None] | None = None
    nranks: int | None = None


class Ended(NamedTuple):
    """How a lane ended. tally: what tests/lanes.py counted in it."""

    name: str
    failed: bool
    seconds: float
    tally: dict


def lanes(suite: str, shard: str) -> list[Lane]:
    """The lanes of a suite, "test" or "all", in the order in which they run."""
    only = "" if suite == "all" else " and not matrix"
    common = (SLOWEST, "--shard", shard)
    return [
        Lane(
            "together",
            ("-n", str(WORKERS), "-m", f"not faults and not alone{only}", *NBVAL, *common, "notebooks", "tests"),
            in_long_turns,
        ),
        Lane("faults", ("-p", "no:nbval", "-n", str(BREAKING), "-m", f"faults{only}", *common, *marked("faults"))),
        Lane("alone", ("-p", "no:nbval", "-m", f"alone{only}", *common, *marked("alone"))),
        *(_labs(number, labs, *common) for number, labs in NUMBERS[suite].items()),
    ]


def _labs(nranks: int, labs: tuple[str, ...], *options: str) -> Lane:
    """Labs once more, on another number of ranks: what they print of it is not compared, all that they claim must hold."""
    found = ("-n", str(WORKERS), *NBVAL, *options, *(f"notebooks/{lab}" for lab in labs))
    return Lane(f"labs on {nranks}", found, in_long_turns, nranks)


def marked(lane: str, root: Path = ROOT) -> list[str]:
    """The test files that say `pytest.mark.LANE`: to collect all others, too, takes ten seconds of every lane."""
    files = sorted((root / "tests").rglob("test_*.py"))
    return [str(file.relative_to(root)) for file in files if f"pytest.mark.{lane}" in file.read_text()]


def run_style() -> Ended:
    start = time.monotonic()
    failed = [tool for tool in STYLE if subprocess.run([sys.executable, "-m", *tool], cwd=ROOT, check=False).returncode]
    return Ended("style", bool(failed), time.monotonic() - start, {})


def run_lane(lane: Lane, python: str = sys.executable) -> Ended:
    """python: of another environment, which finds what is ours by its path."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tally = Path(folder) / "tally.json"
        command = [python, "-m", "pytest", *lane.pytest, "--tally", str(tally)]
        print(f"\n{lane.name}: pytest {' '.join(command[3:-2])}", flush=True)
        env = {name: value for name, value in os.environ.items() if name != "NRANKS"}
        env |= {"NRANKS": str(lane.nranks)} if lane.nranks else {}
        env |= {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))} if python != sys.executable else {}
        code = subprocess.run(command, cwd=ROOT, env=env, check=False, preexec_fn=lane.begins).returncode
        told = json.loads(tally.read_text()) if tally.exists() else {}
    nothing_here = code == NO_TESTS and told.get("other shards")
    return Ended(lane.name, not told or (code != 0 and not nothing_here), time.monotonic() - start, told)


def table(ended: list[Ended]) -> list[str]:
    """What ran, lane by lane, and what was left out, why, and which word runs it."""
    lines = ["", f"{'lane':<10}{'seconds':>9}  outcome"]
    lines += [f"{lane.name:<10}{lane.seconds:>9.0f}  {outcome(lane)}" for lane in ended]
    left_out: Counter[str] = Counter()
    for lane in ended:  # the first collects everything, the others a part of the same tests
        left_out |= Counter(lane.tally.get("left out", {}))
    elsewhere = sum(lane.tally.get("other shards", 0) for lane in ended)
    gpus = sum(lane.tally.get("GPU tests", [0, 0])[0] for lane in ended)
    firefox = sum(lane.tally.get("Firefox tests", [0, 0])[0] for lane in ended)
    if left_out or gpus or firefox or elsewhere:
        lines += ["", "left out"]
    lines += [f"{number:>6}  {why}: {WHERE['test']}" for why, number in left_out.most_common()]
    lines += [f"{gpus:>6}  GPUs that are not here: {WHERE['gpu']}"] * bool(gpus)
    lines += [f"{firefox:>6}  Firefox that is not here: {WHERE['Firefox']}"] * bool(firefox)
    lines += [f"{elsewhere:>6}  in the other shards"] * bool(elsewhere)
    return lines


def outcome(lane: Ended) -> str:
    counts = lane.tally.get("counts", {})
    said = [f"{counts[kind]} {kind}" for kind in SHOWN if counts.get(kind)]
    behind = len(lane.tally.get("left behind", []))
    said += [f"{behind} processes left behind"] * bool(behind)
    return ", ".join(said or ["clean"]) + ", FAILED" * lane.failed


def total(ended: list[Ended]) -> str:
    """The last line, as pytest itself would end."""
    counts = sum((Counter(lane.tally.get("counts", {})) for lane in ended), Counter())
    failed = [lane.name for lane in ended if lane.failed]
    said = [f"{counts[kind]} {kind}" for kind in SHOWN if counts[kind]]
    said += [f"lanes that failed: {' '.join(failed)}"] if failed else []
    return f"=== {', '.join(said)} in {sum(lane.seconds for lane in ended):.2f}s ==="


def main(argv: list[str] | None = None) -> int:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("suite", choices=("test", "all"))
    ask.add_argument("--shard", default="1/1", help="I/N: the I-th of N parts of equal weight")
    asked = ask.parse_args(argv)
    os.environ.pop(NO_CACHE, None)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # torch's threads must not spin on cores that others could use
    # A job in the background ignores Ctrl-C, and so would everything that it starts, tests of interrupts included.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ended = [run_style()]
    ended += [run_lane(lane) for lane in lanes(asked.suite, asked.shard or "1/1")]
    print(*table(ended), total(ended), sep="\n", flush=True)
    return int(any(lane.failed for lane in ended))


if __name__ == "__main__":
    sys.exit(main())
