"""What the page offers to try: one text of each kind, each with a word on where it is from. Chapter: yours.

Tables are printed from published times (helpers.yours.tables.printing); what is slow in them was made so, and `about` says how.
"""

from __future__ import annotations

import json
import pickle
from base64 import b64encode
from functools import cache
from gzip import decompress
from itertools import combinations
from pathlib import Path
from typing import Any

from helpers.facts import MACHINES, public
from helpers.memory.allocator import program, replay
from helpers.memory.snapshot import snapshot_of
from helpers.nccl import predict
from helpers.yours.places import told_place
from helpers.yours.tables.printing import printed, without
from helpers.yours.tables.published import published

NVLS_OFF = "nccl-tests-h200-b200-nvls"
ARTICLE = "nccl-tests-4xh100-all_reduce"
SIZES = [2**n for n in range(13, 34)]
TOPOLOGY = """\
        GPU0    GPU1    GPU2    GPU3    NIC0    CPU Affinity    NUMA Affinity
GPU0     X      NV4     SYS     SYS     PHB     0-31    0
GPU1    NV4      X      SYS     SYS     PHB     0-31    0
GPU2    SYS     SYS      X      NV4     SYS     32-63   1
GPU3    SYS     SYS     NV4      X      SYS     32-63   1
NIC0    PHB     PHB     SYS     SYS      X
"""
LOG = """\
node1:71:71 [0] NCCL INFO NCCL version 2.30.7+cuda13.0
node1:71:80 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1.
node1:71:80 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct
node1:71:80 [0] NCCL INFO Channel 01 : 0[0] -> 1[1] via SHM/direct/direct
node1:72:81 [1] NCCL INFO Channel 00 : 1[1] -> 0[0] via SHM/direct/direct
node1:72:81 [1] NCCL INFO Channel 01 : 1[1] -> 0[0] via SHM/direct/direct
"""
DEAD = """\
[rank0]:[E102 03:14:07.513001 ProcessGroupNCCL.cpp:683] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4711, \
OpType=ALLREDUCE, NumelIn=26214400, NumelOut=26214400, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.
[rank0]:[E102 03:14:07.513212 ProcessGroupNCCL.cpp:2241] [PG ID 0 PG GUID 0(default_pg) Rank 0]  failure detected by watchdog at work \
sequence id: 4711 PG status: last enqueued work: 4713, last completed work: 4710
[rank1]:[E102 03:14:07.902117 ProcessGroupNCCL.cpp:1682] [PG ID 0 PG GUID 0(default_pg) Rank 1] Received a dump signal due to a collective \
timeout from  rank 0 and we will try our best to dump the debug info. Last enqueued NCCL work: 4710, last completed NCCL work: 4710.
Root Cause (first observed failure):
[0]:
  time      : 2026-01-02_03:15:09
  host      : node1
  rank      : 0 (local_rank: 0)
  exitcode  : -6 (pid: 71)
  error_file: <N/A>
  traceback : Signal 6 (SIGABRT) received by PID 71
"""
HOLES = "; ".join([*(f"t{k} = 24 MiB" for k in range(16)), f"del {', '.join(f't{k}' for k in range(1, 16, 2))}"])


TRACES = [
    Path(__file__).resolve().parents[3] / "recorded" / "traces" / f"late-rank-{rank}.json.gz" for rank in range(4)
]


@cache
def examples() -> tuple[dict[str, Any], ...]:
    """name, label (its button), about, machine (a key of MACHINES or None), and one of text, pickle, dumps and packed.

    pickle: base64. dumps: JSON by rank. packed: traces by rank, gzip in base64.
    """
    return (
        _example(
            "ring",
            "8 H200, by the ring",
            _ring(),
            "made of the published run on 8 H200: at each size as much slower as the model says of the ring in NVLS's place;"
            " the last row is published, with NVLS switched off",
        ),
        _example("article", "4 H100 of an article", _article(), f"published: {public(ARTICLE).source['title']}"),
        _example(
            "cards",
            "2 nodes of 8 H100",
            _cards(),
            "made: the times that NCCL's own formula has for two of eight network cards",
            machine="2x8-IB",
        ),
        _example(
            "pairs",
            "4 nodes in pairs",
            _pairs(),
            "made of the published run on two p5.48xlarge: each pair that one of the nodes is in takes twice as long",
            machine="p5.48xlarge",
        ),
        _example("topology", "nvidia-smi topo -m", TOPOLOGY, "made: four GPUs under two NVLink bridges"),
        _example("log", "a log of NCCL", LOG, "made, after the format of NCCL 2.30.7: two ranks of one node"),
        _example("dead", "a job that died", DEAD, "made, after the words of torch 2.13: two ranks of one node"),
        {
            **_example("dumps", "flight-recorder dumps", None, "made: four ranks, as torch 2.13 writes them"),
            "dumps": _dumps(),
        },
        {
            **_example("trace", "traces of four ranks", None, _label()),
            "packed": [b64encode(path.read_bytes()).decode() for path in TRACES],
        },
        {
            **_example("snapshot", "a memory snapshot", None, "made by this course's model of the allocator"),
            "pickle": _snapshot(),
        },
    )


def _example(name: str, label: str, text: str | None, about: str, machine: str | None = None) -> dict[str, Any]:
    return {"name": name, "label": label, "about": about, "machine": machine, "text": text}


def _label() -> str:
    """As the trace itself says it."""
    told = json.loads(decompress(TRACES[0].read_bytes()))["recorded"]
    return f"a recorded run of this course, {told['label']}: {told['what']}"


def _ring() -> str:
    run = next(
        run
        for run in published()
        if (run.gpu, run.collective, run.nranks, run.version) == ("H200", "all_reduce", 8, "2.29.2")
    )
    seconds = {point.nbytes: point.seconds for point in run.points}
    slow = without(
        seconds, "all_reduce", MACHINES["HGX-H200"], 8, run.version, lambda one: not one.algorithm.startswith("NVLS")
    )
    row = next(row for row in public(NVLS_OFF).rows if (row["gpu"], row["nranks"]) == ("H200", 8))
    nbytes, busbw = int(str(row["nbytes"])), float(str(row["busbw_nvls_off"]))
    return printed("H200", "all_reduce", 8, run.version, slow | {nbytes: nbytes * 1.75 / (busbw * 1e9)})


def _article() -> str:
    rows = public(ARTICLE).rows
    return printed(
        "H100", "all_reduce", 4, "2.26.2", {int(str(row["nbytes"])): float(str(row["seconds"])) for row in rows}
    )


def _cards() -> str:
    place = told_place("2x8-IB").with_ports(2)
    seconds = {nbytes: predict("all_reduce", nbytes, place, 16, "2.29.2").seconds for nbytes in SIZES}
    return printed("H100", "all_reduce", 16, "2.29.2", seconds, hosts=2)


def _pairs() -> str:
    run = next(run for run in published() if run.title.endswith("2 p5.48xlarge over EFA"))
    seconds = {point.nbytes: point.seconds for point in run.points if point.nbytes >= 2**30}
    pairs = ((a, b, 2 if b == 3 else 1) for a, b in combinations(range(4), 2))
    made = (
        (a, b, printed("H100", "all_reduce", 16, "2.27.7", {n: took * x for n, took in seconds.items()}, 2))
        for a, b, x in pairs
    )
    return "".join(text.replace("node-1", f"node-{b}").replace("node-0", f"node-{a}") for a, b, text in made)


def _dumps() -> list[str]:
    """Ranks 0, 1 and 2 are in the fifth all_reduce; rank 3 has done four, and is in none."""
    groups = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}}
    return [
        json.dumps(
            {"version": "2.10", "pg_config": groups, "entries": [_entry(k, k < 4) for k in range(5 if rank < 3 else 4)]}
        )
        for rank in range(4)
    ]


def _entry(record: int, done: bool) -> dict[str, Any]:
    return {
        "record_id": record,
        "frames": [{"filename": "train.py", "line": 112, "name": "step"}],
        "process_group": ["0", "default_pg"],
        "collective_seq_id": record + 1,
        "p2p_seq_id": 0,
        "profiling_name": "nccl:all_reduce",
        "input_sizes": [[1048576]],
        "input_dtypes": ["Float"],
        "state": "completed" if done else "started",
        "time_discovered_completed_ns": 7 if done else None,
        "is_p2p": False,
    }


def _snapshot() -> str:
    """Sixteen tensors of 24 MiB, of which every second one was freed."""
    return b64encode(pickle.dumps(snapshot_of(replay(program(HOLES))))).decode()
