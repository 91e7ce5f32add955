"""Traces written by hand, in kineto's form: kernels, copies, Gloo's calls, operators."""

from __future__ import annotations

import json
import random

GPU = {"device": 0, "stream": 7}
COMM = {"Collective name": "allreduce", "Group size": 2, "dtype": "Float", "Process Group Name": "0"}


def event(name, start, dur, cat="kernel", pid=0, tid=7, **args):
    """start, dur: microseconds; a float is written with three places."""
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": dur, "args": args}


def talk(start, dur, nelems=1 << 20, op="allreduce", tid=40, **more):
    said = COMM | {"Collective name": op, "In msg nelems": nelems, "Out msg nelems": nelems}
    return event(f"ncclDevKernel_{op}_RING_LL(void)", start, dur, tid=tid, **(said | more))


def gloo(op, start, dur, nelems=1000, tid=9):
    return event(
        f"gloo:{op}", start, dur, "user_annotation", 11, tid, **{"Input Dims": [[nelems]], "Input type": ["float"]}
    )


def op(name, start, dur, tid=1):
    return event(name, start, dur, "cpu_op", 11, tid)


def trace(*events, rank=0, world_size=2, gpus=("NVIDIA H100 80GB HBM3",), **more):
    about = {"backend": "nccl", "rank": rank, "world_size": world_size, "pg_count": 1, "nccl_version": "2.27.7"}
    head = {"schemaVersion": 1, "deviceProperties": [{"id": k, "name": name} for k, name in enumerate(gpus)]}
    return head | {"distributedInfo": about, "traceEvents": list(events)} | more


def text(*events, **more):
    return json.dumps(trace(*events, **more))


def some_gpu_rank(chance: random.Random) -> str:
    """Kernels, copies and collectives in any order, with ties, empty ones and times of three places; loaders and steps now and then."""
    at = lambda most: chance.choice((chance.randrange(most), round(chance.random() * most, 3)))  # noqa: E731
    events = []
    for _ in range(chance.randint(1, 14)):
        kind, where = chance.randrange(5), {"pid": chance.choice((0, 0, 1)), "tid": chance.choice((7, 20, 40))}
        if kind == 0:
            seq = {"Seq": chance.randrange(9)} if chance.random() < 0.5 else {}
            events.append(talk(at(60), at(20), chance.choice((0, 1, 1 << 20)), chance.choice(OPS), **(where | seq)))
        elif kind == 1:
            events.append(event("Memcpy HtoD", at(60), at(20), "gpu_memcpy", **where))
        elif kind == 2:
            events.append(
                event(
                    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                    at(60),
                    at(20),
                    "user_annotation",
                    11,
                    1,
                )
            )
        elif kind == 3:
            events.append(event(f"ProfilerStep#{chance.randrange(3)}", at(60), at(40), "user_annotation", 11, 1))
        else:
            events.append(event("gemm", at(60), at(20), **where))
    return text(*events, rank=chance.choice((0, 1, None)))


def some_cpu_rank(chance: random.Random) -> str:
    """Operators in each other, Gloo's calls beside and inside them, and loaders."""
    events = []
    for _ in range(chance.randint(1, 14)):
        start, dur, tid = chance.randrange(60), chance.randrange(20), chance.choice((1, 2))
        kind = chance.randrange(4)
        if kind == 0:
            events.append(
                gloo(
                    chance.choice(("all_reduce", "all_gather", "send", "barrier")),
                    start,
                    dur,
                    chance.choice((0, 10)),
                    tid,
                )
            )
        elif kind == 1:
            events.append(op(chance.choice(("c10d::allreduce_", "record_param_comms")), start, dur, tid))
        elif kind == 2:
            events.append(event("enumerate(DataLoader)#X.__next__", start, dur, "user_annotation", 11, tid))
        else:
            events.append(op("aten::mm", start, dur, tid))
    return text(*events, gpus=())


OPS = ("allreduce", "_allgather_base", "reduce_scatter_tensor_coalesced", "broadcast", "all_to_allv", "send", "magic")
