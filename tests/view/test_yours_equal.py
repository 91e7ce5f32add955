"""The verdict in the page is Python's, field by field and word for word: real texts, published runs scaled and forced, damaged ones."""

from __future__ import annotations

import base64
import gzip
import json
import math
import os
import pickle
import random
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.facts import MACHINES
from helpers.view.shared.nccl import known as nccl_known
from helpers.view.yours.known import CHAPTERS, known
from helpers.yours import is_my_number_good
from helpers.yours.causes import KINDS
from helpers.yours.printing import NAMES, printed, without
from helpers.yours.published import published
from website.widgets import widget_files

HERE = Path(__file__).parent
VIEW = HERE.parents[1] / "helpers" / "view"
OUTPUT = HERE.parent / "nccl" / "output"
sys.path += [str(OUTPUT), str(HERE.parent / "yours")]

from damage import FAULTS, damaged  # noqa: E402
from damage import mutated as spoiled  # noqa: E402
from made_runs import CHECKS, made_run  # noqa: E402
from made_tables import times  # noqa: E402
from made_traces import some_cpu_rank, some_gpu_rank  # noqa: E402
from snapshots import HOSTILE, some_snapshot  # noqa: E402
from test_read_flights_equal import some_job, written  # noqa: E402
from test_read_snapshots_equal import mutated  # noqa: E402
from test_read_traces_equal import REAL as REAL_TRACE  # noqa: E402
from test_read_traces_equal import several  # noqa: E402

TEXTS = [
    path.read_text() for folder in ("tables", "topologies", "logs") for path in sorted((OUTPUT / folder).glob("*.txt"))
]
RUNS = [run for run in published() if len(run.points) > 1]
VERSIONS = ("2.23.4", "2.27.3", "2.27.7", "2.28.9", "2.29.2", "2.30.7", "2.12.7")


OWN = {"A100": "DGX-A100", "L40S": "8xL40S", "GB200": "GB200-NVL72"} | {
    gpu: f"HGX-{gpu}" for gpu in ("H100", "H200", "B200")
}
LEFT = (lambda c: c.protocol != "LL128", lambda c: not c.algorithm.startswith("NVLS"), lambda c: c.protocol == "LL")


def some_table(rng: random.Random) -> dict:
    """A published run with another scale, launch, rate, version, machine or number of hosts, or with a setting taken away."""
    run = rng.choice(RUNS)
    seconds, own, version = times(run), MACHINES[OWN[run.gpu]], rng.choice(VERSIONS)
    if rng.random() < 0.4 and own.shape == "switch" and run.version:
        version = run.version
        seconds = without(seconds, run.collective, own, run.nranks, version, rng.choice(LEFT))
    scale, launch, rate = rng.choice((1, 1, 1, rng.uniform(0.5, 6))), rng.uniform(0, 9e-5), rng.uniform(1e9, 5e11)
    few, slow = rng.random() < 0.3, rng.random() < 0.3
    made = {n: max(t * scale, launch * few, n / rate * slow) for n, t in seconds.items() if rng.random() < 0.9}
    hosts = rng.choice((1, 1, 1, 2)) if run.nranks > 2 else 1
    collective = rng.choice((run.collective, run.collective, run.collective, "sendrecv"))
    text = printed(run.gpu, collective, run.nranks, version, made, hosts)
    if rng.random() < 0.3:
        text = "\n".join(line for line in text.split("\n") if not line.startswith("#  Rank"))
    return {"text": text, "machine": rng.choice((None, None, OWN[run.gpu], OWN[run.gpu], rng.choice(list(MACHINES))))}


def two_nodes(rng: random.Random) -> dict:
    """Sixteen ranks of H100 with any rate, any launch, over a network that is named."""
    rate, launch = 10 ** rng.uniform(9, 11.6), rng.uniform(2e-5, 2e-4)
    made = {2**n: launch + 2**n / rate for n in range(10, rng.randint(20, 34))}
    text = printed("H100", rng.choice(("all_reduce", "all_gather")), 16, rng.choice(VERSIONS), made, hosts=2)
    if rng.random() < 0.2:
        text = "\n".join(line for line in text.split("\n") if not line.startswith("#  Rank"))
    if rng.random() < 0.2:
        text = text.replace(
            "NVIDIA H100 80GB HBM3", rng.choice(("NVIDIA GB10", "Tesla V100-SXM2-16GB", "NVIDIA H200")), 1
        )
    return {"text": text, "machine": rng.choice(("2x8-IB", "2x8-IB", "2x8-RoCE", "8x8-IB", None))}


def tables(count: int) -> list[dict]:
    rng = random.Random(14)
    real = [{"text": text, "machine": machine} for text in TEXTS for machine in (None, "HGX-H100", "2x8-IB")]
    return real + [(some_table, some_table, two_nodes)[k % 3](rng) for k in range(count)]


def others(count: int) -> list[dict]:
    """Damaged texts of every kind, whole ones with a fault or two, and what is no text of ours."""
    texts = [one for text in TEXTS for one in damaged(text.split("\n"), len(text), count, window=len(text.split("\n")))]
    (bare,) = ("\n".join(line for line in one.split("\n") if not line.startswith("#")) for one in TEXTS[:1])
    strange = (
        bare,
        "",
        "hello",
        "98.4 GB/s",
        "98.414",
        "# Avg bus bandwidth    : 7.5 ",
        "{}",
        "{",
        "NCCL INFO",
        "busbw",
    )
    return [{"text": text} for text in (*strange, *texts)]


def packed(one: bytes | str | dict) -> dict:
    """A text, or bytes, as JSON carries them."""
    return {"text": one} if isinstance(one, str) else {"pickle": base64.b64encode(one).decode()}


def dumps(count: int) -> list[dict]:
    """Jobs of a few ranks, as pickles and as JSON; some damaged, some without a rank, and single ones."""
    chance = random.Random(15)
    made = [written(some_job(chance), chance) for _ in range(count)]
    found = []
    for one in made:
        fewer = {rank: dump for rank, dump in one.items() if chance.random() < 0.8} or one
        rank, dump = chance.choice(list(one.items()))
        torn = (
            FAULTS[chance.randrange(len(FAULTS))](dump, chance)
            if isinstance(dump, str)
            else dump[: chance.randrange(len(dump))]
        )
        found += [{"dumps": each} for each in (one, fewer, {rank: torn})] + [{"one": dump}, {"one": torn}]
    return [
        {"dumps": {rank: packed(dump) for rank, dump in case["dumps"].items()}, "given": case["dumps"]}
        if "dumps" in case
        else {**packed(case["one"]), "given": case["one"]}
        for case in found
    ]


def snapshots(count: int) -> list[dict]:
    """Snapshots with one to several devices, some of them damaged, hostile pickles, and functions."""
    chance = random.Random(16)
    made = [some_snapshot(chance) for _ in range(count)]
    some = [pickle.dumps(one, 4) for one in [*made, *(mutated(chance.choice(made), chance) for _ in made)]]
    files = [
        *some,
        *HOSTILE,
        pickle.dumps(os.system),
        pickle.dumps(Path()),
        b"",
        b"\xff",
        b"98.4 GB/s",
        b"\xef\xbb\xbf98.4",
    ]
    return [{**packed(one), "given": one} for one in files]


def asked(cases: list[dict], node, tmp_path) -> list[dict]:
    path = tmp_path / "cases.json"
    plain = [{name: value for name, value in case.items() if name != "given"} for case in cases]
    path.write_text(json.dumps({"known": {**known(), "nccl": nccl_known()}, "cases": plain}), encoding="utf-8")
    command = [node, HERE / "play_yours.mjs", path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def same(mine, theirs, path="") -> list[str]:
    """Where two plain values differ: texts exactly, numbers to 1e-12 (the logarithms of two languages differ in the last bit)."""
    if isinstance(mine, dict):
        unlike = [f"{path}: {sorted(mine)} {sorted(theirs)}"] if set(mine) != set(theirs) else []
        return unlike or [one for key in mine for one in same(mine[key], theirs[key], f"{path}.{key}")]
    if isinstance(mine, list):
        unlike = [f"{path}: {len(mine)} {len(theirs)}"] if len(mine) != len(theirs) else []
        return unlike or [
            one for k, (a, b) in enumerate(zip(mine, theirs, strict=True)) for one in same(a, b, f"{path}[{k}]")
        ]
    if isinstance(mine, float) and isinstance(theirs, (int, float)):
        return [] if math.isclose(mine, theirs, rel_tol=1e-12) else [f"{path}: {mine!r} {theirs!r}"]
    return [] if mine == theirs else [f"{path}: {mine!r} {theirs!r}"]


def profiled(count: int) -> list[dict]:
    """Traces of one rank, of several, of GPUs that a machine has, and damaged ones."""
    chance = random.Random(17)
    found = [gzip.decompress(REAL_TRACE.read_bytes()).decode()]
    found += [text.replace("H100 80GB HBM3", "A100-SXM4-80GB") for text in found]
    found += [make(chance) for _ in range(count) for make in (some_gpu_rank, some_cpu_rank)]
    found += [chance.choice(FAULTS)(chance.choice(found[2:]), chance) for _ in range(count)]
    sets = [dict(enumerate(several(make, chance))) for _ in range(count) for make in (some_gpu_rank, some_cpu_rank)]
    many = [{"dumps": {rank: {"text": text} for rank, text in one.items()}, "given": one} for one in sets]
    return (
        [{"text": text} for text in found]
        + [packed(text.encode()) | {"given": text.encode()} for text in found[:9]]
        + many
    )


JUNK = (None, -1, 0, True, "", "8", [], {}, 1e200, 0.5, [None])


def some_run(rng: random.Random) -> dict:
    """Of any GPU, count and speed; a record may be missing, and a value of another kind."""
    gpu, count = rng.choice((("H200", 8), ("H200", 1), ("H100", 8), ("H100", 1), ("A100", 8), ("L40S", 1), ("B200", 4)))
    failed = tuple(one for one in CHECKS if rng.random() < 0.2)
    name = rng.choice((None, None, None, "NVIDIA T4"))
    made = made_run(gpu, count, rng.choice((1, 1, 1.3, 3, 9)), rng.uniform(0.3, 1.05), failed, name)
    for key in list(made["records"])[1:]:
        if rng.random() < 0.1:
            del made["records"][key]
    return spoiled(made, rng, JUNK, 0.15) if rng.random() < 0.5 else made


def gpu_checks(count: int) -> list[dict]:
    """Runs of gpu-check, whole and with a value of another kind, some told to be of a machine; and torn ones."""
    chance = random.Random(18)
    found = [
        {"text": json.dumps(some_run(chance)), "machine": chance.choice((None, None, "HGX-H100"))} for _ in range(count)
    ]
    whole = json.dumps(made_run())
    torn = [{"text": chance.choice(FAULTS)(whole, chance)} for _ in range(count)]
    return [*found, *torn, {"text": json.dumps({"records": [1]})}, {"text": json.dumps({"records": {"gpu-check": 3}})}]


FEW = {tables: 90, others: 6, dumps: 60, snapshots: 60, profiled: 60, gpu_checks: 80}
MANY = {tables: 900, others: 20, dumps: 200, snapshots: 200, profiled: 600, gpu_checks: 900}


def wanted(case: dict) -> dict:
    return json.loads(json.dumps(is_my_number_good(case.get("given", case.get("text")), case.get("machine")).as_json()))


@pytest.mark.parametrize("kind", FEW)
def test_the_page_gives_pythons_verdict(kind, node, tmp_path):
    compare(kind(FEW[kind]), node, tmp_path)


@pytest.mark.matrix("the page's verdict: more tables, damaged texts, dumps and snapshots")
@pytest.mark.parametrize("kind", MANY)
def test_the_page_gives_pythons_verdict_many_times(kind, node, tmp_path):
    compare(kind(MANY[kind]), node, tmp_path)


def compare(cases: list[dict], node, tmp_path) -> None:
    answers = asked(cases, node, tmp_path)
    assert len(answers) == len(cases) > 120
    for case, answer in zip(cases, answers, strict=True):
        assert same(wanted(case), answer["found"]) == [], str(case)[:2000]


def test_the_names_of_gpus_are_those_that_are_drawn():
    assert set(NAMES) <= set(known()["by_gpu"])


def test_the_page_s_script_is_a_script(node, tmp_path):
    """Minified, as the page has it: the minifier writes 1/0 for Infinity, which is no key of an object."""
    path = tmp_path / "yours.js"
    path.write_text(widget_files()["widgets/yours.js"], encoding="utf-8")
    done = subprocess.run([node, "--check", path], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-500:]


def test_the_page_says_how_much_it_reads():
    given = (VIEW / "yours" / "given.mjs").read_text()
    assert "MOST = 24 * 2 ** 20;" in given and "more than 24 MiB" in (HERE.parents[1] / "book" / "yours.md").read_text()


def test_a_chapter_is_called_as_its_page_is():
    for stem, title in CHAPTERS.items():
        assert (HERE.parents[1] / "book" / f"{stem}.md").read_text().split("\n# ", 1)[1].split("\n")[0] == title
    assert {kind.chapter for kind in KINDS.values()} == set(CHAPTERS)
