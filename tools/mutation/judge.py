"""Whether the tests notice a fault: planted, it must make a test fail, or hang."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.mutation import sandbox
from tools.mutation.points import Place, planted

# Seconds a test may take at least, times its own; and until the first one begins
LEAST, TIMES, START = 20.0, 6.0, 180.0
LOOK = 0.1  # seconds between two looks
# No process, no clock: what fails here fails by the fault
CERTAIN = ("units", "facts", "collectives", "memory", "exercises")


@dataclass(frozen=True)
class Session:
    """One run of pytest: how many tests ran, and which one failed, how ("failed", "hung", "does not start"), or none."""

    ran: int
    test: str = ""
    how: str = ""


@dataclass(frozen=True)
class Verdict:
    """killed, survived or gone; by: the test that failed; ran: tests that ran."""

    verdict: str
    by: str = ""
    how: str = ""
    ran: int = 0
    seconds: float = 0.0


class Judge:
    """Runs tests on one tree, with a fault in it or without."""

    def __init__(self, tree: Path, seconds: dict[str, float], start: Callable = sandbox.start, python: str = ""):
        self.tree, self.seconds, self.start = tree, seconds, start
        self.python = python or str(tree / ".venv/bin/python")

    def verdict(self, place: Place, stages: list[list[str]]) -> Verdict:
        """Stage after stage until a test fails that passes without the fault."""
        began, ran, lost = time.monotonic(), 0, set()
        for stage in stages:
            while tests := [test for test in stage if test not in lost]:
                session = self.session(tests, place)
                ran += session.ran
                if not session.how:
                    break
                if self._certain(session) or self._by_the_fault(session.test, place):
                    return Verdict("killed", session.test, session.how, ran, round(time.monotonic() - began, 1))
                lost |= {session.test}
                stage = tests[tests.index(session.test) :]
        return Verdict("survived", ran=ran, seconds=round(time.monotonic() - began, 1))

    def _certain(self, session: Session) -> bool:
        return session.how == "failed" and session.test.startswith(tuple(f"tests/{name}/" for name in CERTAIN))

    def _by_the_fault(self, test: str, place: Place) -> bool:
        """Whether alone it fails with the fault, and passes without: neither a busy machine's doing nor a neighbour's."""
        return bool(self.session([test], place).how) and not self.session([test], None).how

    def session(self, tests: list[str], place: Place | None) -> Session:
        """Run these tests in this order up to the first that fails; with the fault, or on the tree as it is."""
        with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
            out = Path(folder)
            (out / "list.json").write_text(json.dumps(tests))
            (out / "said.jsonl").touch()
            file = place.point.path if place else ""
            if place:
                (out / "fault.py").write_text(planted((self.tree / file).read_text(), place))
            env = {"BYTES_IN_MOTION_TESTS": str(out / "list.json"), "BYTES_IN_MOTION_SAID": str(out / "said.jsonl")}
            process = self.start(self.tree, out, self.command(tests), file, out / "fault.py" if place else "", **env)
            try:
                return self._watched(process, out / "said.jsonl", tests)
            finally:
                sandbox.stop(process)

    def command(self, tests: list[str]) -> list[str]:
        """pytest on the files of the tests; the plugin picks and orders."""
        files = list(dict.fromkeys(test.split("::")[0] for test in tests))
        return [self.python, *sandbox.PYTEST, "-x", *files]

    def _watched(self, process, said: Path, tests: list[str]) -> Session:
        """What happened, with every test under its own limit."""
        current, since, done = "", time.monotonic(), set()
        while True:
            ended = process.poll() is not None
            lines = [json.loads(line) for line in said.read_text().splitlines(keepends=True) if line.endswith("\n")]
            done = {line["test"] for line in lines if line.get("when") == "teardown"}
            failed = next((line["test"] for line in lines if line.get("outcome") == "failed"), "")
            running = next((line["test"] for line in reversed(lines) if "began" in line), "")
            if running != current:
                current, since = running, time.monotonic()
            if failed:
                return Session(len(done), failed, "failed")
            if ended and process.returncode:
                return Session(len(done), current or tests[0], "ended" if current else "does not start")
            if ended:
                return Session(len(done))
            if time.monotonic() - since > self._limit(current):
                return Session(len(done), current or tests[0], "hung")
            time.sleep(LOOK)

    def _limit(self, test: str) -> float:
        return max(LEAST, TIMES * self.seconds.get(test, 0.0)) if test else START


def order(stages: list[list[str]], first: str) -> list[list[str]]:
    """The stages with one test before all others: the one that found the fault in an earlier run, or was written for it."""
    return [[first], *([test for test in stage if test != first] for stage in stages)] if first else stages
