"""What a reader may give to the page: every real text of these tests, public faults, published runs scaled and forced, and damaged ones."""

from __future__ import annotations

import gzip
import json
import pickle
import random
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any, NamedTuple

from helpers.facts import MACHINES
from helpers.parallel.profiled import trace_path
from helpers.yours.tables.printing import printed, without
from helpers.yours.tables.published import published

TESTS = Path(__file__).parents[1]
OUTPUT = TESTS / "nccl" / "output"
sys.path += [str(OUTPUT), str(TESTS / "yours")]

from damage import FAULTS, damaged  # noqa: E402
from damage import mutated as spoiled  # noqa: E402
from made_runs import CHECKS, made_run  # noqa: E402
from made_tables import times  # noqa: E402
from made_traces import some_cpu_rank, some_gpu_rank  # noqa: E402
from nccl_tests_print import report  # noqa: E402
from snapshots import HOSTILE, some_snapshot  # noqa: E402
from test_flight_recorder import dump, entry  # noqa: E402


class Case(NamedTuple):
    """A text, or the files with these names; on a machine or on none."""

    given: str | list[bytes]
    names: list[str] = []  # noqa: RUF012
    machine: str | None = None


TEXTS = [
    path.read_text() for folder in ("tables", "topologies", "logs") for path in sorted((OUTPUT / folder).glob("*.txt"))
]
TRACE = OUTPUT / "traces" / "ddp-2xa100.json.gz"
RUNS = [run for run in published() if len(run.points) > 1]
VERSIONS = ("2.23.4", "2.27.3", "2.27.7", "2.28.9", "2.29.2", "2.30.7", "2.12.7")
OWN = {"A100": "DGX-A100", "L40S": "8xL40S", "GB200": "GB200-NVL72"} | {
    gpu: f"HGX-{gpu}" for gpu in ("H100", "H200", "B200")
}
LEFT = (lambda c: c.protocol != "LL128", lambda c: not c.algorithm.startswith("NVLS"), lambda c: c.protocol == "LL")
STRANGE = (
    "",
    "hello",
    "98.4 GB/s",
    "98.414",
    "# Avg bus bandwidth    : 7.5 ",
    "{}",
    "{",
    "NCCL INFO",
    "busbw",
    "\ufeff98.4",
    "\x00\u2028é😀",
)
DEEPEST = 200  # of helpers.plain_json: at it and one beyond, in every kind of JSON
JUNK = (None, -1, 0, True, "", "8", [], {}, 1e200, 0.5, [None])


def files(*contents: bytes, names: list[str] | None = None) -> Case:
    return Case(list(contents), names or [f"rank-{rank}" for rank in range(len(contents))])


def real() -> list[Case]:
    """As they lie in tests/ and recorded/, texts on several machines; files also packed, also in pairs."""
    found = [Case(text, [], machine) for text in TEXTS for machine in (None, "HGX-H100", "2x8-IB")]
    found += [files(path.read_bytes(), names=[path.name]) for path in sorted((TESTS / "yours" / "faults").iterdir())]
    found += [files(gzip.compress(TEXTS[0].encode())), files(*(text.encode() for text in TEXTS[-3:-1]))]
    found += [files(TRACE.read_bytes()), files(*(trace_path("late-rank", rank).read_bytes() for rank in range(4)))]
    jobs = [json.dumps(one).encode() for one in json.loads((OUTPUT / "logs" / "gloo-skip.json").read_text())]
    pickles = [b64decode(one) for one in json.loads((OUTPUT / "logs" / "gloo-skip-pickles.json").read_text())]
    return [*found, files(*jobs), files(*pickles), files(*jobs[1:]), files(jobs[0]), Case(report())]


def tables(rng: random.Random) -> Case:
    """A published run with another scale, launch, rate, version, machine or number of hosts, or with a setting taken away."""
    run = rng.choice(RUNS)
    seconds, own, version = times(run), MACHINES[OWN[run.gpu]], rng.choice(VERSIONS)
    if rng.random() < 0.4 and own.shape == "switch" and run.version:
        version = run.version
        seconds = without(seconds, run.collective, own, run.nranks, version, rng.choice(LEFT))
    scale, launch, rate = rng.choice((1, 1, 1, rng.uniform(0.5, 6))), rng.uniform(0, 9e-5), rng.uniform(1e9, 5e11)
    few, slow = rng.random() < 0.3, rng.random() < 0.3
    made = {n: max(t * scale, launch * few, n / rate * slow) for n, t in seconds.items() if rng.random() < 0.9}
    collective = rng.choice((run.collective, run.collective, run.collective, "sendrecv"))
    text = printed(run.gpu, collective, run.nranks, version, made, rng.choice((1, 1, 1, 2)) if run.nranks > 2 else 1)
    if rng.random() < 0.3:
        text = "\n".join(line for line in text.split("\n") if not line.startswith("#  Rank"))
    return Case(text, [], rng.choice((None, None, OWN[run.gpu], OWN[run.gpu], rng.choice(list(MACHINES)))))


def two_nodes(rng: random.Random) -> Case:
    """Sixteen ranks of H100 with any rate, any launch, over a network that is named."""
    rate, launch = 10 ** rng.uniform(9, 11.6), rng.uniform(2e-5, 2e-4)
    made = {2**n: launch + 2**n / rate for n in range(10, rng.randint(20, 34))}
    text = printed("H100", rng.choice(("all_reduce", "all_gather")), 16, rng.choice(VERSIONS), made, hosts=2)
    return Case(text, [], rng.choice(("2x8-IB", "2x8-IB", "2x8-RoCE", "8x8-IB", None)))


def torn(rng: random.Random) -> Case:
    lines = rng.choice(TEXTS).split("\n")
    return Case(next(iter(damaged(lines, rng.randrange(1 << 30), 1, window=len(lines)))))


def dumps(rng: random.Random) -> Case:
    """A job of a few ranks, some further on, some with another call; as JSON or as pickles, perhaps without a rank, perhaps cut."""
    calls = [rng.choice(("all_reduce", "broadcast", "coalesced", "send 0->1")) for _ in range(rng.randint(1, 6))]
    made = []
    for _ in range(rng.randint(1, 4)):
        kept = calls[: len(calls) - rng.choice((0, 0, 1))]
        states = [rng.choice(("completed", "completed", "started", "scheduled")) for _ in kept]
        rows = [entry(k, k, states[k], op, (rng.choice((4, 4, 8)),), is_p2p="-" in op) for k, op in enumerate(kept)]
        one = dump(*rows)
        made.append(rng.choice((pickle.dumps(one, 4), json.dumps(one).encode())))
    if rng.random() < 0.2:
        made[0] = made[0][: rng.randrange(len(made[0]))]
    return files(*made)


def snapshots(rng: random.Random) -> Case:
    data = pickle.dumps(some_snapshot(rng), 4)
    return files(data[: rng.randrange(len(data))] if rng.random() < 0.2 else data)


def traces(rng: random.Random) -> Case:
    """Of one rank or of two; a text perhaps torn."""
    make = rng.choice((some_gpu_rank, some_cpu_rank))
    if rng.random() < 0.4:
        return Case(rng.choice(FAULTS)(make(rng), rng) if rng.random() < 0.5 else make(rng))
    rows = [json.loads(make(rng)) for _ in range(2)]
    for rank, row in enumerate(rows):
        row["distributedInfo"] |= {"rank": rank, "world_size": 2}
    return files(*(json.dumps(row).encode() for row in rows))


def gpu_checks(rng: random.Random) -> Case:
    """Runs of gpu-check of any GPU, count and speed; a record may be missing, and a value of another kind."""
    gpu, count = rng.choice((("H200", 8), ("H200", 1), ("H100", 8), ("A100", 8), ("L40S", 1), ("B200", 4)))
    bad = tuple(one for one in CHECKS if rng.random() < 0.2)
    made = made_run(
        gpu, count, rng.choice((1, 1, 1.3, 3, 9)), rng.uniform(0.3, 1.05), bad, rng.choice((None, None, "NVIDIA T4"))
    )
    made = spoiled(made, rng, JUNK, 0.15) if rng.random() < 0.5 else made
    return Case(json.dumps(made), [], rng.choice((None, None, "HGX-H100")))


def deep() -> list[Case]:
    """At the limit of depth and one beyond, in every kind of JSON."""
    kinds = ('{{"traceEvents": {}}}', '{{"pg_config": {}}}', '{{"records": {}}}', '{{"results": {}}}')
    return [Case(kind.format("[" * n + "]" * n)) for kind in kinds for n in (DEEPEST - 1, DEEPEST)]


def cases(count: int) -> list[Case]:
    """All that are real, and of each made kind so many."""
    rng = random.Random(29)
    made: list[Any] = [
        make(rng) for make in (tables, two_nodes, torn, dumps, snapshots, traces, gpu_checks) for _ in range(count)
    ]
    return [*real(), *deep(), *map(Case, STRANGE), *(files(one) for one in (*HOSTILE, b"", b"\xff")), *made]
