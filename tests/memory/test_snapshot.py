"""Snapshots of torch are read as data, become traces and segments, and are compared with the model block by block."""

import os
import pickle

import pytest

from helpers.memory import Event
from helpers.memory.allocator import program, replay
from helpers.memory.snapshot import SnapshotError, compare, read, snapshot_of
from helpers.units import MIB

PROGRAM = (
    "a = 6 MiB; b = 3 MiB; del a; c = 4 MiB; d = 100 KiB; e = 30 MiB; del b, c; empty_cache(); f = 22 MiB; g = 700"
)

# Fields, words and layout as torch 2.13 writes them; a history that began while block 7f..0000 was alive.
A = 0x7F5E_2A00_0000
FRAMES = [
    {"filename": "/site/torch/nn/modules/linear.py", "line": 134, "name": "forward"},
    {"filename": "/course/train.py", "line": 12, "name": "step"},
]
REAL = {
    "segments": [
        {
            "device": 0,
            "address": A,
            "total_size": 2097152,
            "allocated_size": 1536,
            "active_size": 3584,
            "requested_size": 3100,
            "stream": 0,
            "segment_type": "small",
            "segment_pool_id": (0, 0),
            "is_expandable": False,
            "frames": [],
            "blocks": [
                {"address": A, "size": 512, "requested_size": 100, "state": "active_allocated", "frames": []},
                {
                    "address": A + 512,
                    "size": 1024,
                    "requested_size": 1000,
                    "state": "active_allocated",
                    "frames": FRAMES,
                },
                {
                    "address": A + 1536,
                    "size": 2048,
                    "requested_size": 2000,
                    "state": "active_pending_free",
                    "frames": [],
                },
                {"address": A + 3584, "size": 2093568, "requested_size": 0, "state": "inactive", "frames": []},
            ],
        },
        {
            "device": 1,
            "address": A,
            "total_size": 20971520,
            "allocated_size": 0,
            "active_size": 0,
            "requested_size": 0,
            "stream": 0,
            "segment_type": "large",
            "segment_pool_id": (0, 0),
            "is_expandable": False,
            "frames": [],
            "blocks": [{"size": 20971520, "requested_size": 0, "state": "inactive", "frames": []}],
        },
    ],
    "device_traces": [
        [
            {
                "action": "free_completed",
                "addr": A + 4096,
                "size": 300,
                "stream": 0,
                "time_us": 1_000_000,
                "frames": [],
            },
            {"action": "alloc", "addr": A + 512, "size": 1000, "stream": 0, "time_us": 1_000_250, "frames": FRAMES},
            {"action": "segment_alloc", "addr": A + (4 << 20), "size": 20971520, "stream": 0, "time_us": 1_000_300},
            {"action": "oom", "device_free": 5, "size": 1 << 40, "stream": 0, "time_us": 1_000_400, "frames": []},
            {"action": "segment_free", "addr": A + (4 << 20), "size": 20971520, "stream": 0, "time_us": 1_000_500},
            {
                "action": "alloc",
                "addr": A + 1536,
                "size": 2000,
                "stream": 0,
                "time_us": 1_000_600,
                "frames": FRAMES[:1],
            },
            {"action": "free_requested", "addr": A + 1536, "size": 2000, "stream": 0, "time_us": 1_000_700},
            {"action": "snapshot", "addr": 0, "size": 3584, "stream": 0, "time_us": 1_000_800},
        ],
        [],
    ],
    "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "roundup_power2_divisions": {"1": 0}},
}


def test_a_snapshot_as_torch_writes_it_becomes_a_trace():
    trace = read(pickle.dumps(REAL)).trace()
    assert [(e.kind, e.block, e.nbytes, e.op) for e in trace.events] == [
        ("alloc", 0, 300, ""),  # freed in the history: it was there before
        ("alloc", 1, 100, ""),  # alive at the end and never made in it: the same
        ("free", 0, 300, ""),
        ("alloc", 2, 1000, "step train.py:12"),
        ("mark", -1, 0, "out of memory"),
        ("alloc", 3, 2000, "forward linear.py:134"),
        ("mark", -1, 0, "snapshot"),
    ]
    assert [e.seconds for e in trace.events[2:4]] == [0.0, 0.00025]
    assert trace.samples == ((3, 1100, 23068672), (4, 1100, 2097152))
    assert trace.source == "measured (CUDA allocator)"
    assert int(trace.total[-1]) == 3100


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (["/e/torch/nn/linear.py", "/e/site-packages/flash/layer.py", "/run/train.py", "/run/main.py"], "f train.py:2"),
        (["/e/torch/nn/linear.py", "/e/lib/python3.12/abc.py"], "f abc.py:1"),
        (["??", "/e/torch/nn/linear.py"], "f ??:0"),
        ([r"C:\e\Lib\site-packages\flash.py", r"C:\run\train.py"], "f train.py:1"),
    ],
)
def test_a_block_is_of_the_readers_own_line_before_a_packages_and_that_before_torchs(files, told):
    frames = [{"filename": file, "line": line, "name": "f"} for line, file in enumerate(files)]
    entry = {"action": "alloc", "addr": A, "size": 512, "frames": frames}
    assert read({"segments": [], "device_traces": [[entry]]}).trace().events[0].op == told


def test_lines_of_two_files_of_one_name_are_two():
    files = ["/run/a/train.py", "/run/b/train.py", "/old/b/train.py", "/run/a/train.py"]
    rows = [[{"filename": file, "line": 7, "name": "f"}] for file in files]
    entries = [{"action": "alloc", "addr": A + i, "size": 1, "frames": row} for i, row in enumerate(rows)]
    ops = [event.op for event in read({"segments": [], "device_traces": [entries]}).trace().events]
    assert ops == ["f train.py:7", "f b/train.py:7", "f old/b/train.py:7", "f train.py:7"]


def test_its_segments_have_their_blocks_and_states():
    snapshot = read(REAL)
    (segment,) = snapshot.segments(0)
    assert [(b.size, b.state, b.requested) for b in segment.blocks[1:]] == [
        (1024, "active_allocated", 1000),
        (2048, "active_pending_free", 2000),
        (2093568, "inactive", 0),
    ]
    assert (segment.size, segment.pool, segment.allocated, segment.free) == (2097152, "small", 3584, 2093568)
    assert snapshot.segments(1)[0].blocks[0].address == A  # an older torch gave blocks no address
    assert snapshot.addresses(0) == [A + (4 << 20)]


def test_a_list_of_segments_is_a_snapshot_without_history():
    snapshot = read(REAL["segments"])
    assert len(snapshot.segments(0)) == 1
    with pytest.raises(SnapshotError, match="no history of device 0"):
        snapshot.trace()


class Command:
    def __reduce__(self):
        return os.system, ("exit 7",)


@pytest.mark.parametrize(
    "planted",
    [Command(), os.path.join, {"segments": [Command()]}, ValueError],
    ids=["a command", "a function", "a command inside", "a class"],
)
def test_a_pickle_that_names_anything_but_data_is_refused(planted):
    with pytest.raises(SnapshotError, match="data only"):
        read(pickle.dumps(planted))


@pytest.mark.parametrize(
    "wrong",
    [b"", b"no pickle", {"blocks": []}, {"segments": [{}]}, {"segments": [], "device_traces": [[{"size": 1}]]}, 7],
)
def test_what_is_no_snapshot_is_refused(wrong):
    with pytest.raises(SnapshotError):
        read(wrong)


BLOCK = {"size": 512, "address": 0, "requested_size": 0, "state": "inactive"}
ENTRY = {"size": 512, "addr": 0, "time_us": 1, "action": "alloc"}


def told(block: dict, entry: dict) -> dict:
    segment = {"address": 0, "total_size": 2 * MIB, "segment_type": "small", "blocks": [BLOCK, block]}
    return {"segments": [segment], "device_traces": [[ENTRY, entry]]}


@pytest.mark.parametrize("value", [-1, 1 << 70, True, "1", None])
@pytest.mark.parametrize("row", [BLOCK, ENTRY], ids=["block", "entry"])
def test_a_field_that_does_not_fit_is_named(row, value):
    """Among sound ones, which are passed without a word."""
    read(told(BLOCK, ENTRY))
    for name in row:
        if isinstance(row[name], str) and isinstance(value, str):
            continue
        damaged = row | {name: value}
        with pytest.raises(SnapshotError, match=f"1: {name} is "):
            read(told(damaged, ENTRY) if row is BLOCK else told(BLOCK, damaged))


def test_what_is_allocated_has_an_address_and_a_mark_needs_none():
    bare = {name: value for name, value in ENTRY.items() if name != "addr"}
    read(told(BLOCK, bare | {"action": "oom"}))
    with pytest.raises(SnapshotError, match="entry 1: addr is missing"):
        read(told(BLOCK, bare))


@pytest.mark.parametrize("expandable", [False, True])
def test_the_model_written_as_a_snapshot_and_read_again_is_equal_block_by_block(tmp_path, expandable):
    made = replay(program(PROGRAM), expandable)
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps(snapshot_of(made)))
    snapshot = read(path)
    found = compare(made, snapshot)
    assert bool(found)
    assert found.equal == found.blocks == sum(len(s.blocks) for s in made.segments())
    assert found.reserved == (made.reserved[-1], made.reserved[-1])
    again = replay(snapshot.trace(emptied=True), expandable, addresses=snapshot.addresses())
    assert compare(again, snapshot)
    assert [a[1:5] for a in again.actions] == [
        a._replace(address=b.address)[1:5] for a, b in zip(made.actions, again.actions, strict=True)
    ]


def test_the_history_keeps_every_tensor_and_every_time():
    trace = program(PROGRAM)
    timed = type(trace)(
        tuple(e._replace(seconds=i / 1000) for i, e in enumerate(trace.events)), trace.source, trace.about
    )
    read_again = read(snapshot_of(replay(timed))).trace()
    kept = [e for e in timed.events if e.kind != "mark"]
    assert [(e.kind, e.nbytes, e.seconds) for e in read_again.events] == [(e.kind, e.nbytes, e.seconds) for e in kept]
    assert [e.op for e in read_again.events][:2] == ["a model.py:0", "b model.py:0"]


def test_a_replay_that_went_another_way_is_told_segment_by_segment():
    right = snapshot_of(replay(program("a = 12 MiB; b = 3 MiB; del b; c = 512")))
    other = replay(program("a = 12 MiB; b = 3 MiB; c = 512"))
    found = compare(other, read(right))
    assert not found
    assert (found.blocks, found.equal) == (5, 3)
    assert found.allocated == (15 * MIB + 512, 12 * MIB + 512)
    assert found.differences == (
        f"only in the model: large segment of {20 * MIB} bytes: {3 * MIB} -{17 * MIB}",
        f"only in the snapshot: large segment of {20 * MIB} bytes: -{20 * MIB}",
    )
    assert str(found) == "model of the allocator against a snapshot: 3 of 5 blocks equal, 2 segments differ"


@pytest.mark.parametrize("blocks", [12, 13])
def test_of_a_segment_that_differs_twelve_blocks_are_told(blocks):
    """Each tensor is a block, and the free rest of the 20 MiB another one."""
    text = "; ".join(f"t{number} = {MIB + MIB // 4}" for number in range(blocks - 1))
    (line,) = compare(replay(program(text)), read(snapshot_of(replay(program("a = 0"))))).differences
    told = line.rpartition(": ")[2].split()
    assert len(told) == 12 + (blocks > 12) and (told[-1] == "...") == (blocks > 12)


def test_a_written_segment_has_every_field_of_torchs():
    """Another allocator's memory would have a pool id of its own; the model has the device's, on the default stream."""
    (segment,) = snapshot_of(replay(program("b = 1000")))["segments"]
    addresses = [segment.pop("address"), *(block.pop("address") for block in segment["blocks"])]
    assert [address - addresses[0] for address in addresses] == [0, 0, 1024]
    whole = {"total_size": 2 * MIB, "allocated_size": 1024, "active_size": 1024, "requested_size": 1000}
    kind = {"segment_type": "small", "segment_pool_id": (0, 0), "is_expandable": False, "stream": 0, "device": 0}
    taken = {"size": 1024, "requested_size": 1000, "state": "active_allocated", "frames": []}
    free = {"size": 2 * MIB - 1024, "requested_size": 0, "state": "inactive", "frames": []}
    assert segment == {**whole, **kind, "frames": [], "blocks": [taken, free]}


def test_the_moment_without_memory_is_in_the_written_history():
    made = replay(program("a = 30 MiB; b = 30 MiB"), limit=40 * MIB, raises=False)
    history = read(snapshot_of(made)).entries()
    assert [(e["action"], e.get("device_free")) for e in history[-1:]] == [("oom", 10 * MIB)]
    assert read(snapshot_of(made)).trace().events[-1] == Event("mark", -1, 0, "temporary", op="out of memory")


@pytest.mark.gpus(1)
def test_the_model_equals_the_real_allocator_block_by_block():
    torch = pytest.importorskip("torch")
    torch.cuda.empty_cache()
    torch.cuda.memory._record_memory_history()
    try:
        keep = [torch.empty(n, dtype=torch.uint8, device="cuda") for n in (100, 3 * MIB, 12 * MIB, 700 * 1024)]
        del keep[1]
        keep.append(torch.empty(5 * MIB, dtype=torch.uint8, device="cuda"))
        snapshot = read(torch.cuda.memory._snapshot())
    finally:
        torch.cuda.memory._record_memory_history(None)
    assert compare(replay(snapshot.trace(emptied=True), addresses=snapshot.addresses()), snapshot)
