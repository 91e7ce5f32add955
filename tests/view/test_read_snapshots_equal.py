"""The page reads a memory snapshot as Python does: every segment, block and entry, and every refusal."""

import copy
import pickle
import random

import pytest
from read_equal import answer, plain, played, unequal
from snapshots import HOSTILE, some_snapshot

from helpers.memory.allocator import program, replay
from helpers.memory.snapshot import SnapshotError, read, snapshot_of

JUNK = (
    None,
    -1,
    0,
    1 << 50,
    1 << 64,
    (1 << 64) - 1,
    1 << 20_000,
    1.0,
    True,
    "",
    "inactive",
    "oom",
    [],
    [[]],
    {},
    (),
    b"x",
)
ALLOC = {"action": "alloc", "addr": 5, "size": 1}
ODD = [
    7,
    [],
    {"segments": 3},
    {"segments": []},
    {"segments": [], "device_traces": None},
    {"segments": [], "device_traces": [[ALLOC], ({"action": "oom", "size": 4, "device_free": 3},)]},
    {"segments": [], "device_traces": [[{"action": "alloc", "size": 4}]]},
    {"segments": ({"address": (1 << 63) + 1, "total_size": 8, "segment_type": "small", "blocks": ()},)},
    {"segments": [{"address": 0, "total_size": 8, "segment_type": "small", "blocks": [{}] * 9000}] * 900},
    {"segments": [], "device_traces": [[ALLOC] * 9000] * 4000},
]


def told(data):
    found = read(data)
    segments, named = [], ("address", "size", "pool", "expandable")
    for device in sorted({segment.get("device", 0) for segment in found.segments_}):
        rows = [
            {"device": device}
            | {name: getattr(segment, name) for name in named}
            | {
                "blocks": [
                    {k: getattr(b, k) for k in ("address", "size", "state", "requested")} for b in segment.blocks
                ]
            }
            for segment in found.segments(device)
        ]
        segments.append([rows, [segment.allocated for segment in found.segments(device)]])
    names = ("action", "addr", "size", "time_us")
    entries = [[{name: one.get(name) for name in names} for one in trace] for trace in found.device_traces]
    return plain({"segments": segments, "entries": entries})


def mutated(data, chance):
    """One value of another type or size, or missing."""
    data = copy.deepcopy(data)
    at = data
    while True:
        key = chance.choice(list(at)) if isinstance(at, dict) else chance.randrange(len(at))
        if not isinstance(at[key], (dict, list)) or not at[key] or chance.random() < 0.1:
            break
        at = at[key]
    if chance.random() < 0.3:
        del at[key]
    else:
        at[key] = chance.choice(JUNK)
    return data


@pytest.mark.parametrize("count", [340, pytest.param(3000, marks=pytest.mark.matrix("nine thousand snapshots"))])
def test_snapshots_are_read_alike(node, tmp_path, count):
    chance = random.Random(20261123)
    made = [some_snapshot(chance) for _ in range(count)]
    written = snapshot_of(replay(program("a = 6 MiB; b = 3 MiB; del a; c = 4 MiB")))
    dicts = [*ODD, written, *made, *(mutated(chance.choice(made), chance) for _ in range(2 * count))]
    files = [*HOSTILE, *(pickle.dumps(data, chance.choice((2, 3, 4, 5))) for data in dicts)]
    files += [data[: chance.randrange(len(data))] for data in files[-20:]]
    mine = [answer(told, data, SnapshotError) for data in files]
    assert unequal(mine, played(node, tmp_path, "snapshot", files)) == []
    assert sum("value" in one for one in mine) > count
    assert len({one.get("refused") for one in mine}) > count / 8
