"""NCCL's choice as the page computes it is what Python computes: choices, candidates, seconds, notes and refusals."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from dataclasses import asdict

import pytest

from helpers.facts import MACHINES
from helpers.nccl import Choice, Launch, NotPredicted, Platform, predict
from helpers.nccl.platforms import GENERATION
from helpers.nccl.tuning import COLLECTIVES
from helpers.view.shared.nccl import known

CASES = 1800
VERSIONS = ("2.23.4", "2.26.2", "2.27.3", "2.27.7", "2.28.9", "2.29.2", "2.29.3", "2.29.7", "2.30.7")
STRANGE = (
    ("all_reduce", 0, "HGX-H100", None, "2.30.7"),
    ("all_reduce", 1.5, "HGX-H100", None, "2.30.7"),
    ("all_reduce", "8", "HGX-H100", None, "2.30.7"),
    ("all_reduce", True, "HGX-H100", None, "2.30.7"),
    ("all_to_all", 8, "HGX-H100", None, "2.30.7"),
    ("it's", 8, "HGX-H100", None, "2.30.7"),
    ("all_reduce", 8, "HGX-H100", None, "2.22.3"),
    ("all_reduce", 8, "HGX-H100", None, "2.32.6"),
    ("all_reduce", 8, "HGX-H100", None, "2"),
    ("all_reduce", 8, "HGX-H100", None, "two"),
    ("all_reduce", 8, "HGX-H100", None, "2.30."),
    ("all_reduce", 8, "HGX-H100", 1, "2.30.7"),
    ("all_reduce", 8, "HGX-H100", 9, "2.30.7"),
    ("all_reduce", 8, "2x8-IB", 12, "2.30.7"),
    ("all_reduce", 8, "2x8-IB", 24, "2.30.7"),
    ("all_reduce", 8, "HGX-B200", None, "2.23.4"),
    ("broadcast", 8, "GB200-NVL72", None, "2.25"),
    ("all_reduce", 8, Platform("B200", 8, 2, 1, 12.5), None, "2.30.7"),
)


def some_machine(rng: random.Random) -> str | Platform:
    """One of the facts, or a platform as nobody sells it."""
    if rng.random() < 0.5:
        return rng.choice(list(MACHINES))
    launch = Launch(rng.uniform(1e-6, 2e-5), rng.uniform(1e-7, 3e-6)) if rng.random() < 0.5 else None
    network = (rng.choice((1, 2, 4, 8)), rng.choice((12.5, 25.0, 50.0, 100.0))) if rng.random() < 0.9 else (0, 0.0)
    gpus, nodes = rng.choice((1, 2, 4, 8, 8, 8, 16, 36, 72)), rng.choice((1, 1, 2, 2, 3, 4, 16, 64))
    cpu = rng.choice(("Intel", "AMD", "Arm"))
    return Platform(rng.choice((*GENERATION, "L40S")), gpus, nodes, *network, cpu, launch, rng.choice(("", "its own")))


def some_size(rng: random.Random) -> int:
    return rng.choice(
        (2 ** rng.randint(0, 36), 2 ** rng.randint(0, 36) + rng.randint(-1, 1) or 1, rng.randint(1, 2**40))
    )


def some_case(rng: random.Random) -> tuple:
    machine = some_machine(rng)
    described = MACHINES[machine] if isinstance(machine, str) else machine
    whole = described.gpus * described.nodes
    nranks = rng.choice((None, None, rng.randint(1, whole + 1), described.gpus * rng.randint(1, described.nodes)))
    launch = Launch(1.5e-5, 2e-6, "a reader's own") if rng.random() < 0.1 else None
    return rng.choice(COLLECTIVES), some_size(rng), machine, nranks, rng.choice(VERSIONS), launch


def in_python(collective, nbytes, machine, nranks, version, launch=None) -> Choice | tuple[str, str]:
    described = MACHINES[machine] if isinstance(machine, str) else machine
    try:
        return predict(collective, nbytes, described, nranks, version, launch)
    except ValueError as error:
        return ("NotPredicted" if isinstance(error, NotPredicted) else "ValueError"), str(error)


def as_data(value: object) -> object:
    return asdict(value) if isinstance(value, Platform | Launch) else value


@pytest.fixture(scope="module")
def cases() -> list[tuple]:
    rng = random.Random(41)
    return [*STRANGE, *(some_case(rng) for _ in range(CASES))]


@pytest.fixture(scope="module")
def played(cases, play) -> list[dict]:
    """One node process computes everything."""
    return play("nccl", {"known": known(), "cases": [list(map(as_data, case)) for case in cases]})


def same(a: float | None, b: float | None) -> bool:
    return a is b if a is None or b is None else math.isclose(a, b, rel_tol=1e-12)


def test_every_choice_is_the_same(cases, played):
    for case, got in zip(cases, played, strict=True):
        want = in_python(*case)
        if not isinstance(want, Choice):
            assert (got.get("refused"), got.get("message")) == want, case
            continue
        told = asdict(want)
        assert list(got) == list(told), case
        for name in told.keys() - {"candidates", "seconds", "raw"}:
            assert got[name] == told[name], (case, name)
        assert same(got["seconds"], told["seconds"]) and same(got["raw"], told["raw"]), case
        for mine, theirs in zip(got["candidates"], told["candidates"], strict=True):
            assert [mine[part] for part in ("algorithm", "protocol", "channels")] == list(theirs.values())[:3], case
            assert same(mine["raw"], theirs["raw"]) and same(mine["corrected"], theirs["corrected"]), case


def test_the_cases_reach_every_branch_of_the_choice(cases, played):
    told = Counter((got.get("algorithm"), got.get("protocol"), got.get("refused")) for got in played)
    answered = sum(count for (_, _, refused), count in told.items() if refused is None)
    assert answered >= 1000
    assert {a for got in played for a in (one["algorithm"] for one in got.get("candidates", ()))} == {
        "Ring",
        "Tree",
        "NVLS",
        "NVLSTree",
        "PAT",
    }
    assert {refused for _, _, refused in told} == {None, "NotPredicted", "ValueError"}
    assert {protocol for _, protocol, _ in told if protocol} == {"LL", "LL128", "Simple"}


def test_the_page_is_told_what_python_has(cases):
    """A machine or a version that is added reaches the page by itself, and what is handed over is plain JSON of a few kilobytes."""
    told = json.loads(json.dumps(known()))
    assert list(told["machines"]) == list(MACHINES)
    assert told["machines"]["2x8-IB"]["across"] == MACHINES["2x8-IB"].across.value
    assert len(json.dumps(known())) < 20_000
