"""Free memory is accused only where it lies beside live blocks: what is wholly free, torch gives back by itself."""

from __future__ import annotations

import pickle
from itertools import count
from pathlib import Path

import pytest

from helpers.units import GIB, MIB
from helpers.yours import is_my_number_good

FAULT = Path(__file__).parents[1] / "faults" / "07-whole-free-segments.pickle"
PLACES = count(1)
PAGE = 20 * MIB  # of an expandable segment in the large pool


def segment(*blocks, pool=(0, 0), device=0, kind="large", stream=0, expandable=False):
    """As torch writes one, blocks side by side: bytes that are live, negative ones free."""
    at = next(PLACES) << 40
    rows = [
        {
            "size": abs(n),
            "requested_size": max(n, 0),
            "state": "active_allocated" if n > 0 else "inactive",
            "frames": [],
        }
        for n in blocks
    ]
    about = {
        "device": device,
        "address": at,
        "total_size": sum(map(abs, blocks)),
        "segment_type": kind,
        "stream": stream,
    }
    return about | {"segment_pool_id": pool, "is_expandable": expandable, "frames": [], "blocks": rows}


def of(*segments, history=()):
    return is_my_number_good(pickle.dumps({"segments": list(segments), "device_traces": [list(history)]}))


def entry(action, size, **more):
    return {"action": action, "size": size, "stream": 0, "time_us": 1, "frames": []} | more


def refused(size, free):
    return entry("oom", size, device_free=free)


def holed(times, live=24 * MIB, free=40 * MIB, **how):
    return [segment(live, -free, **how) for _ in range(times)]


FREE = [segment(-GIB) for _ in range(4)]
FULL = segment(8 * GIB)
HEALTHY = {  # nothing is accused
    "whole segments": [FULL, *FREE],
    "whole segments of four streams": [FULL, *(segment(-GIB, stream=k) for k in range(4))],
    "a large and many small whole ones": [FULL, *FREE, *(segment(-2 * MIB, kind="small") for _ in range(200))],
    "one hole holds nearly all": [segment(GIB, -3 * GIB), segment(GIB)],
    "holes below a fifth": [FULL, *holed(20)],
    "holes below 64 MiB": [segment(64 * MIB, -20 * MIB), segment(64 * MIB, -20 * MIB)],
    "whole pages of expandable segments": holed(8, live=PAGE, free=40 * PAGE, expandable=True),
    "a private pool": [FULL, segment(MIB, -2 * GIB, pool=(0, 1)), segment(MIB, -2 * GIB, pool=(0, 1))],
    "another GPU": [FULL, *(segment(-GIB, device=1) for _ in range(3))],
    "all in use": [FULL],
}
BROKEN = {
    "holes beside live blocks": holed(8),
    "holes and whole segments": [*holed(80), *FREE],
    "small pools": [segment(512, 512 - 2 * MIB, kind="small") for _ in range(100)],
    "of two streams": [*holed(4), *holed(4, stream=7)],
    "parts of pages": holed(60, live=MIB, free=PAGE - 2 * MIB, expandable=True),
    "the largest GPU": [*holed(8, device=1), segment(MIB)],
}


def test_the_fault():
    found = is_my_number_good(FAULT.read_bytes())
    assert found.causes == () and found.what.endswith("5 segments, 1 live blocks")
    assert "2 GiB are 4 wholly free segments, which the allocator gives back by itself" in found.sentence


@pytest.mark.parametrize("name", HEALTHY)
def test_what_goes_back_by_itself_accuses_nobody(name):
    assert of(*HEALTHY[name]).accused == ()


@pytest.mark.parametrize("name", BROKEN)
def test_holes_beside_live_blocks_are_fragmentation(name):
    (cause,) = of(*BROKEN[name]).causes
    assert (cause.name, cause.accuses, cause.repair) == ("fragmentation", True, "fragmentation")


def test_only_holes_are_counted():
    why = of(*holed(80), *FREE).causes[0].why
    assert why.startswith(
        "3.12 GiB of 9 GiB are reserved and free, in 80 pieces beside live blocks; a tensor larger than 40 MiB"
    )


def test_a_private_pool_is_a_remark_with_its_bytes():
    (cause,) = of(*HEALTHY["a private pool"]).causes
    assert cause.name == "private pool" and not cause.accuses
    assert cause.why.startswith("4 GiB belong to a private pool (of CUDA graphs, or a MemPool), 4 GiB of them free")


def test_every_gpu_has_a_line():
    assert of(*HEALTHY["another GPU"]).lines == (
        "GPU 0: 8 GiB reserved, 8 GiB in use, 0 B in free segments, 0 B in holes",
        "GPU 1: 3 GiB reserved, 0 B in use, 3 GiB in free segments, 0 B in holes",
    )


HOLED = holed(80)  # 3.125 GiB in holes of 40 MiB
SINCE = [entry("free_requested", 7 * GIB, addr=1), entry("free_completed", 7 * GIB, addr=1)]


@pytest.mark.parametrize(
    ("segments", "history", "accused"),
    [
        (HOLED, [refused(2 * GIB, 100 * MIB)], "fragmentation"),
        ([*HOLED, FULL], [refused(2 * GIB, 0), entry("snapshot", 0)], "fragmentation"),  # less than a fifth
        (HOLED, [refused(4 * GIB, GIB)], "fragmentation"),
        (HOLED, [refused(40 * GIB, GIB)], "out of memory"),
        (holed(4), [refused(2 * GIB, 1950 * MIB)], "out of memory"),  # free, but not by the allocator
        ([FULL], [refused(GIB, 100 * MIB)], "out of memory"),
        ([segment(GIB, -7 * GIB)], [refused(2 * GIB, GIB), *SINCE], "out of memory"),  # full then, empty now
        ([*HOLED, *FREE], [refused(2 * GIB, 0), entry("segment_alloc", 4 * GIB, addr=1)], "fragmentation"),
    ],
)
def test_a_request_that_found_no_memory_is_judged_by_that_moment(segments, history, accused):
    found = of(*segments, history=history)
    assert found.accused == (accused,) and f"Look first at: {accused}." in found.sentence
    assert "found no memory: " in found.sentence


def summary(allocated, reserved, holes, ooms=0, device=0, unit="MiB"):
    """As torch.cuda.memory_summary() prints it, shortened."""
    sizes = {"Allocated memory": allocated, "Active memory": allocated, "GPU reserved memory": reserved}
    lines = [f"|{f'PyTorch CUDA memory summary, device ID {device}':^75}|", "|" + "-" * 75 + "|"]
    lines += [f"|{f'CUDA OOMs: {ooms}':^36}|{'cudaMalloc retries: 0':^38}|", "|" + "=" * 75 + "|"]
    for name, size in (sizes | {"Non-releasable memory": holes}).items():
        lines.append(
            f"| {name:<22}|{size:>7} {unit} |{size + 1:>7} {unit} |{9 * size:>7} {unit} |{8 * size:>7} {unit} |"
        )
        lines.append(f"| {'      from large pool':<22}|{1:>7} {unit} |{1:>7} {unit} |{1:>7} {unit} |{1:>7} {unit} |")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "accused"),
    [
        (summary(1024, 3072, 0), ()),  # the fault of this kind: 2 GiB go back by themselves
        (summary(6000, 8192, 1600), ()),
        (summary(6000, 8192, 1700), ("fragmentation",)),
        (summary(100, 170, 60), ()),
        (summary(100 << 10, 200 << 10, 70 << 10, unit="KiB"), ("fragmentation",)),
        (summary(7900, 8192, 100, ooms=2), ("out of memory",)),
        (summary(7000, 7000, 0) + "\n" + summary(3000, 6000, 2500, ooms=1, device=1), ("fragmentation",)),
        ("RuntimeError: x\n" + summary(1024, 3072, 0, unit="MB") + "\nand so on", ()),
    ],
)
def test_the_summary_that_torch_prints(text, accused):
    found = is_my_number_good(text)
    assert (found.kind, found.accused) == ("snapshot", accused)


def test_a_summary_cut_off_is_refused_by_its_name():
    assert "a memory summary of PyTorch without its rows" in is_my_number_good(summary(1, 2, 3)[:300]).refused
