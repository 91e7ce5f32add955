"""A window: what is put arrives whole once its signal is seen, the system moves none of it, and reading too early is refused."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from helpers.ranks import RankError
from helpers.ranks.windows import NotSignalled, Window, kernel_bytes


def shifted(rounds, numel, dtype):
    """Everybody puts to the right, `rounds` times; a slot is written again only when its reader has signalled back."""
    rank, nranks = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % nranks, (rank - 1) % nranks
    window, got = Window(numel, dtype), []
    for k in range(rounds):
        if k:
            window.wait(right)
        window.put(torch.full((numel,), 10 * rank + k, dtype=dtype), right)
        window.signal(right)
        window.wait(left)
        seen = window.read(left)
        got.append((seen.min().item(), seen.max().item()))
        if k + 1 < rounds:
            window.signal(left)
    return got, window.copied, window.signals


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int64])
def test_every_message_arrives_whole(four, dtype):
    rounds, numel = 5, 50_001
    for rank, (got, copied, signals) in enumerate(four.run(shifted, rounds, numel, dtype)):
        left = (rank - 1) % 4
        assert got == [(10 * left + k,) * 2 for k in range(rounds)]
        assert (copied, signals) == (rounds * numel * dtype.itemsize, 2 * rounds - 1)


def counted(numel):
    """Bytes that each way hands to the system: (send and receive, put and signal)."""
    rank, window = dist.get_rank(), Window(numel)
    data, landed = torch.ones(numel), torch.zeros(numel)
    dist.barrier()
    before = kernel_bytes()
    if rank == 0:
        dist.send(data, 1)
    elif rank == 1:
        dist.recv(landed, 0)
    sent = kernel_bytes() - before
    dist.barrier()
    before = kernel_bytes()
    if rank == 0:
        window.put(data, 1)
        window.signal(1)
    elif rank == 1:
        window.wait(0)
        landed = window.read(0)
    return sent, kernel_bytes() - before, landed.sum().item()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts what a process writes")
@pytest.mark.parametrize("numel", [16, 2**18])
def test_a_put_hands_the_system_nothing_and_a_send_all_with_two_notes(pools, numel):
    """Gloo's preamble is six words (gloo/transport/tcp/pair.h): before the data, that it is ready, and the receiver's."""
    (sent, put, _), (received, waited, total) = pools[2].run(counted, numel)
    assert (sent, received) == (4 * numel + 2 * 48, 48)
    assert (put, waited, total) == (0, 0, numel)


def looked(early):
    """Rank 1 reads: before any signal, or twice after one."""
    rank, window = dist.get_rank(), Window(4)
    if rank == 0:
        window.put(torch.ones(4), 1)
    dist.barrier()
    if rank == 0:
        window.signal(1)
    elif rank == 1:
        if not early:
            window.wait(0)
            window.read(0)
        window.read(0)


@pytest.mark.parametrize(("early", "says"), [(True, "0 waited for"), (False, "1 of its signals came, 1 waited for")])
def test_reading_without_having_waited_is_refused(pools, early, says):
    with pytest.raises(RankError, match="rank 1 reads what rank 0 puts, but has not waited for it") as error:
        pools[2].run(looked, early)
    assert (
        says in str(error.value) and "Call wait(0) first" in str(error.value) and issubclass(NotSignalled, RuntimeError)
    )


def torn():
    """Rank 0 has put half of the new message: what rank 1 finds if it looks without asking."""
    rank, window = dist.get_rank(), Window(4)
    if rank == 0:
        window.put(torch.tensor([1.0, 2.0]), 1)
    dist.barrier()
    early = window.mine.tolist()
    dist.barrier()
    if rank == 0:
        window.put(torch.tensor([3.0, 4.0]), 1, offset=2)
        window.signal(1)
    elif rank == 1:
        window.wait(0)
        return early, window.read(0, 1, 2).tolist(), window.mine.tolist()
    return None


def test_without_the_check_half_a_message_is_seen(pools):
    early, part, late = pools[2].run(torn)[1]
    assert early == [1, 2, 0, 0] and late == [1, 2, 3, 4] and part == [2, 3], "elements 1 and 2 of the message"


def alone():
    window = Window(4)
    if dist.get_rank() == 1:
        window.wait(0, limit=0.1)


def test_a_signal_that_does_not_come_is_told(pools):
    with pytest.raises(RankError, match=r"rank 1 waited 0.1 s for signal 1 of rank 0: 0 came"):
        pools[2].run(alone)


def wrong(what):
    window = Window(4)
    calls = {
        "place": lambda: window.put(torch.ones(3), 1, offset=2),
        "before": lambda: window.put(torch.ones(1), 1, offset=-1),
        "type": lambda: window.put(torch.ones(3, dtype=torch.int32), 1),
        "shape": lambda: window.put(torch.ones(2, 2), 1),
        "rank": lambda: window.signal(2),
        "no rank": lambda: window.wait(True),
    }
    calls[what]()


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("place", "elements 2 to 5 are not inside a window of 4"),
        ("before", "elements -1 to 0 are not inside"),
        ("type", "expected one dimension of torch.float32 on the CPU, got 1 of torch.int32"),
        ("shape", "got 2 of torch.float32"),
        ("rank", "expected one of ranks 0 to 1, got 2"),
        ("no rank", "got True"),
    ],
)
def test_what_cannot_be_put_is_refused_before_it_is(pools, what, says):
    with pytest.raises(RankError, match=says):
        pools[2].run(wrong, what)


def uneven():
    Window(4 if dist.get_rank() else 4096)


def test_ranks_that_do_not_share_one_memory_are_told(pools):
    with pytest.raises(RankError, match="they must be on one machine, with one numel and dtype"):
        pools[2].run(uneven)


@pytest.mark.parametrize("numel", [0, -1, True, 2.0])
def test_a_window_of_nothing_is_refused(numel):
    with pytest.raises(ValueError, match="1 element or more"):
        Window(numel)


def test_it_leaves_no_file(pools):
    """Neither in the team's own folder nor beside it."""
    pools[2].run(shifted, 1, 1000, torch.float32)
    folders = [Path(tempfile.gettempdir()), *Path(tempfile.gettempdir()).glob("bytes-in-motion-*")]
    assert len(folders) > 1 and not [file for folder in folders for file in folder.glob("bim-window-*")]
