"""Made-up memory snapshots in PyTorch's documented format, and files that only look like one."""

from __future__ import annotations

import os
import pickle
import random
from collections import OrderedDict

FRAMES = (
    [],
    [{"filename": "??", "line": 0, "name": "malloc"}, {"filename": "/srv/train.py", "line": 31, "name": "forward"}],
    [
        {"filename": "/env/torch/nn/linear.py", "line": 7, "name": "linear"},
        {"filename": "model.py", "line": 2**17, "name": "étage"},
    ],
    [{"filename": "/env/torch/nn/linear.py", "line": 7, "name": "linear"}],
    # Two files of one name, and a third in folders of the same names; a package before the program, and alone.
    [{"filename": "/srv/old/train.py", "line": 31, "name": "forward"}],
    [{"filename": "C:\\srv\\old\\train.py", "line": 31, "name": "forward"}],
    [
        {"filename": "/env/lib/python3.12/site-packages/flash_attn/layer.py", "line": 3, "name": "run"},
        {"filename": "/srv/train.py", "line": 8, "name": "step"},
    ],
    [
        {"filename": "/env/torch/nn/linear.py", "line": 7, "name": "linear"},
        {"filename": "/env/site-packages/flash_attn/layer.py", "line": 3, "name": "run"},
    ],
)
PLACES = tuple(0x7F00_0000_0000 + 2**21 * i for i in range(60))  # few, so that addresses come again


def some_snapshot(rng: random.Random) -> dict:
    """Any snapshot of one to three GPUs: blocks from before the history, frees of those, segments that come and go, marks."""
    devices = rng.randint(1, 3)
    segments, traces = [], []
    for device in range(devices):
        entries = [] if rng.random() < 0.2 else list(_entries(rng))
        traces.append(entries)
        alive = {}
        for entry in entries:
            if entry["action"] == "alloc":
                alive[entry["addr"]] = entry["size"]
            elif entry["action"] in ("free_completed", "free"):
                alive.pop(entry["addr"], None)
        segments += [_segment(rng, device, number, alive) for number in range(rng.randint(0, 3))]
    extra = {
        "allocator_settings": {"max_split_size": -1, "garbage_collection_threshold": 0.5},
        "external_annotations": [],
    }
    return {"segments": segments, "device_traces": traces, **extra}


def lined_snapshot(*lines: tuple[str, int, str, int]) -> dict:
    """Of a GPU where every line (file, number, function, bytes) makes a block, and all of them stay."""
    entries = [
        {"action": "alloc", "addr": PLACES[i], "size": size, "time_us": i,
         "frames": [*FRAMES[3], {"filename": file, "line": line, "name": name}]}
        for i, (file, line, name, size) in enumerate(lines)
    ]  # fmt: skip
    return {"segments": [], "device_traces": [entries]}


def _entries(rng: random.Random):
    time, alive, before = 1_700_000_000_000_000, [], 0
    for _ in range(rng.randint(1, 40)):
        time += rng.randint(0, 2000)
        action = rng.choice(
            [
                "alloc",
                "alloc",
                "free_requested",
                "free_completed",
                "free",
                "segment_alloc",
                "segment_free",
                "segment_map",
                "oom",
                "snapshot",
            ]
        )
        entry = {
            "action": action,
            "size": rng.choice([512, 70_000, 2**21, 3 * 2**31]),
            "stream": 0,
            "time_us": time,
            "frames": rng.choice(FRAMES),
        }
        if action == "alloc":
            entry["addr"] = rng.choice([addr for addr in PLACES if addr not in alive])
            alive.append(entry["addr"])
        elif action in ("free_completed", "free"):
            # Some of these were alive before the history: freed once, never made in it.
            before += 512
            entry["addr"] = alive.pop(rng.randrange(len(alive))) if alive and rng.random() < 0.7 else before
        elif action == "oom":
            entry["device_free"] = 123
        else:
            entry["addr"] = rng.randint(2**20, 2**47)
        yield entry


def _segment(rng: random.Random, device: int, number: int, alive: dict[int, int]) -> dict:
    base, blocks, at = 2**46 + number * 2**35 + device * 2**40, [], 0
    for _ in range(rng.randint(1, 5)):
        size = 512 * rng.randint(1, 100)
        block = {
            "size": size,
            "state": rng.choice(["active_allocated", "active_awaiting_free", "inactive"]),
            "frames": [],
        }
        block |= {"address": base + at} if rng.random() < 0.8 else {}
        block |= {"requested_size": size - rng.randint(0, 511)} if rng.random() < 0.8 else {}
        blocks.append(block)
        at += size
    if alive and rng.random() < 0.5:
        addr = rng.choice(list(alive))
        blocks.append(
            {
                "address": addr,
                "size": alive[addr],
                "requested_size": alive[addr],
                "state": "active_allocated",
                "frames": [],
            }
        )
    where = {"device": device, "address": base, "total_size": sum(b["size"] for b in blocks), "stream": 0}
    return where | {
        "segment_type": rng.choice(["small", "large"]),
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "blocks": blocks,
    }


class _Runs:
    def __reduce__(self):
        return os.getcwd, ()


GOOD = pickle.dumps({"segments": [], "device_traces": [[]]}, protocol=4)
# What is none: code, a class, an object outside, a stream that ends early, no pickle, a dict of something else, an old protocol.
HOSTILE = (
    *(pickle.dumps({"segments": _Runs()}, protocol=protocol) for protocol in (2, 3, 4, 5)),
    pickle.dumps(OrderedDict(segments=[], device_traces=[[{"action": "alloc"}]]), protocol=4),
    pickle.dumps({"segments": {1, 2}}, protocol=4),
    GOOD[:-4],
    b"PK\x03\x04 not a pickle",
    b"",
    pickle.dumps({"nothing": 1}, protocol=4),
    pickle.dumps([1, 2], protocol=2),
    pickle.dumps({"segments": [], "device_traces": []}, protocol=0),
    b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f.",
    b"\x80\x04h\x05.",
    b"\x80\x04u.",
    pickle.dumps({"segments": [], "device_traces": [[]], "__proto__": {"x": 1}}, protocol=4),
)
