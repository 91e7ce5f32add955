"""How much the tests notice: small faults, drawn once, each planted alone, against the tests that reach it.

    python -m tools.mutants draw                       what is planted where: recorded/mutants/drawn.jsonl (once)
    python -m tools.mutants reach NAME TESTS...        run tests, and note which functions each of them runs
    python -m tools.mutants judge RUN [--only 2-]      plant and test those that RUN ("before", "after") has not judged yet
    python -m tools.mutants table                      recorded/mutants/README.md

Every test runs in a sandbox (Linux, root), since a mutated `kill` or clean-up is not to be trusted. `--tree` names a clone at
another commit, with its own .venv; reach notes go under its _build/mutants. A run that is stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from tools.mutation import draw, record, sandbox
from tools.mutation.judge import Judge, Verdict, order
from tools.mutation.reach import Reach

ROOT = Path(__file__).resolve().parent.parent


def notes(tree: Path) -> Path:
    """Where reach leaves what it found about a tree."""
    return tree / "_build" / "mutants"


def reach(tree: Path, name: str, tests: list[str], start=sandbox.start, python: str = "") -> int:
    """Run tests once, watched; pytest's exit status. Slow: every call of a function is looked at."""
    out = notes(tree) / name
    out.mkdir(parents=True, exist_ok=True)
    for file in out.iterdir():
        file.unlink()
    env = {"REACH": str(out), "REACH_OF": str(tree / "helpers"), "SAID": str(out / "said.jsonl")}
    process = start(
        tree,
        out,
        [python or str(tree / ".venv/bin/python"), *sandbox.PYTEST, *tests],
        **{f"BYTES_IN_MOTION_{key}": value for key, value in env.items()},
    )
    try:
        return process.wait()
    finally:
        sandbox.stop(process)


@dataclass(frozen=True)
class Wanted:
    """Which mutants: those whose id begins so and that lack a verdict, or the named ones, again. dearest: seconds a test may cost."""

    begins: str = ""
    again: tuple[str, ...] = ()
    dearest: float = math.inf

    def ids(self, drawn: list[str], done: set[str]) -> list[str]:
        return [name for name in drawn if (name in self.again if self.again else name not in done)]


def judge(
    tree: Path, run: str, wanted: Wanted, folder: Path = record.FOLDER, start=sandbox.start, python: str = ""
) -> None:
    """Judge in drawn order; the test that found a fault before goes first. An equivalent one is judged only by its name."""
    drawn, done = record.read_draw(folder), {*record.judged(run, folder), *record.equivalent(folder)}
    past = [verdict for other in record.RUNS for verdict in record.judged(other, folder).items()]
    killers = {name: verdict.by for name, verdict in past if verdict.by}
    killers |= record.mended(folder)
    found, where, tests = Reach(), draw.Tree(tree), {part.name: part.tests for part in draw.PARTS}
    for noted in sorted(path.parent for path in notes(tree).glob("*/reached")):
        found.read(noted)
    found.forget(wanted.dearest)
    court = Judge(tree, found.seconds, start, python)
    for name in wanted.ids([each for each in drawn if each.startswith(wanted.begins)], done):
        part, point = drawn[name]
        verdict = Verdict("gone")
        if place := where.find(point):
            stages = found.stages(place.point, tree, tests[part])
            verdict = court.verdict(place, order(stages, killers.get(name, "")))
        if verdict.verdict == "survived" and wanted.dearest < math.inf:
            verdict = replace(verdict, how=f"tests of up to {wanted.dearest:g} s")
        record.add(run, name, verdict, folder)
        print(name, verdict.verdict, verdict.how, verdict.by, f"{verdict.seconds:g} s", flush=True)


def main(argv: list[str] | None = None) -> int:
    """0, pytest's status for reach, 2 where no sandbox can be had."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description="How much the tests notice.")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the clone whose tests are judged (default: this one)")
    parser.add_argument(
        "--folder", type=Path, default=record.FOLDER, help="of the draw and the verdicts (default: recorded/mutants)"
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("draw")
    verbs.add_parser("table")
    watched = verbs.add_parser("reach")
    watched.add_argument("name")
    watched.add_argument("tests", nargs="+")
    judged = verbs.add_parser("judge")
    judged.add_argument("run", choices=record.RUNS)
    judged.add_argument("--only", default="", help="those whose id begins so: 2- is floors 1 and 2, 3- is floor 3")
    judged.add_argument("--ids", nargs="*", default=[], help="judge these, again; default: those without a verdict")
    judged.add_argument("--dearest", type=float, default=math.inf, help="leave out tests that cost more seconds")
    options = parser.parse_args(argv)
    tree = options.tree.resolve()
    if options.verb == "draw":
        record.write_draw({part.name: draw.draw(tree, part) for part in draw.PARTS}, options.folder)
    elif options.verb == "table":
        (options.folder / "README.md").write_text(record.table(options.folder))
    elif trouble := sandbox.trouble():
        print(f"mutants: {trouble}", file=sys.stderr)
        return 2
    elif options.verb == "reach":
        return reach(tree, options.name, options.tests)
    else:
        os.nice(10)  # it is never in a hurry
        judge(tree, options.run, Wanted(options.only, tuple(options.ids), options.dearest), options.folder)
    return 0


if __name__ == "__main__":
    # So that a sandbox ends with who started it
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    sys.exit(main())
