"""Kind 03: hosts, processes and threads that are blacked out or gone, launchers' prefixes, no newline at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.nccl import parse_debug_log
from helpers.yours import is_my_number_good

FAULT = (Path(__file__).parents[1] / "faults" / "03-no-host-names.txt").read_text()


def test_two_ranks_without_a_host_are_one_communicator():
    found = is_my_number_good(FAULT)
    assert found.what == "a log of NCCL 2.29.2: 1 communicator, 2 P2P/CUMEM" and found.accused == ()


def log_of(front, ranks=4, nodes=1, ends=True, comm_id="0xab54", base=7):
    """`front`: what stands before a rank's lines, by rank and device; ranks start in order and come to their end in the other one."""

    def line(rank, message):
        return f"{front(rank, rank % (ranks // nodes))} NCCL INFO {message}"

    def member(rank, what):
        device = rank % (ranks // nodes)
        about = f"cudaDev {device} nvmlDev {device} busId {device}000{f' commId {comm_id}' if comm_id else ''}"
        return line(rank, f"ncclCommInitRank comm 0x{base + rank:x}0 rank {rank} nranks {ranks} {about} - Init {what}")

    ways = [line(rank, f"Channel 00/0 : {rank}[0] -> {(rank + 1) % ranks}[1] via P2P/IPC") for rank in range(ranks)]
    done = [member(rank, "COMPLETE") for rank in reversed(range(ranks))] if ends else []
    return "\n".join([*(member(rank, "START") for rank in range(ranks)), *ways, *done])


FRONTS = {
    "nothing": lambda rank, device: f"[{device}]",
    "words for numbers": lambda rank, device: f"xxx:pid:tid [{device}]",
    "one host for all": lambda rank, device: f"host:{100 + rank}:{200 + rank} [{device}]",
    "stars": lambda rank, device: f"<redacted>:****:**** [{device}]",
    "a dash": lambda rank, device: f"-:-:- [{device}]",
    "an empty host": lambda rank, device: f":{100 + rank}:{200 + rank} [{device}]",
    "torchrun": lambda rank, device: f"[rank{rank}]:[{device}]",
    "torchrun's default": lambda rank, device: f"[default{device}]:n1:{100 + rank}:{200 + rank} [{device}]",
    "mpirun": lambda rank, device: f"[1,{rank}]<stdout>:[{device}]",
    "Slurm": lambda rank, device: f"{rank}: [{device}]",
    "a pod": lambda rank, device: f"[pod/train-worker-{rank // 2}/pytorch] [{device}]",
    "a clock": lambda rank, device: f"2026-03-04 05:06:{rank:02d} [{device}]",
    "a clock of Kubernetes": lambda rank, device: f"2026-03-04T05:06:07.{rank}89Z xxx:pid:tid [{device}]",
}


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("front", FRONTS.values(), ids=FRONTS.keys())
def test_ranks_come_together_and_are_complete(front, nodes):
    text = log_of(front, nodes=nodes)
    (comm,) = parse_debug_log(text, strict=True).communicators()
    assert comm.ranks == (0, 1, 2, 3) and all(member.complete for member in comm.members)
    assert is_my_number_good(text).accused == ()


@pytest.mark.parametrize("front", FRONTS.values(), ids=FRONTS.keys())
def test_a_rank_that_never_came_to_its_end_is_still_told(front):
    text = log_of(front).rpartition("\n")[0]
    found = is_my_number_good(text)
    assert found.accused == ("truncated log",) and "of rank 0:" in found.causes[0].why


def test_two_communicators_without_hosts_stay_two():
    front = FRONTS["nothing"]
    log = parse_debug_log(log_of(front, ranks=2, comm_id="0x1") + "\n" + log_of(front, comm_id="0x2"))
    assert [(comm.comm_id, comm.nranks) for comm in log.communicators()] == [("0x1", 2), ("0x2", 4)]


def test_two_that_are_made_at_once_take_no_lines_from_each_other():
    small, large = (
        log_of(FRONTS["nothing"], ranks, comm_id=f"0x{ranks}", base=9 * ranks).split("\n") for ranks in (2, 4)
    )
    log = parse_debug_log("\n".join([*small[:2], *large[:4], *large[4:8], *small[2:], *large[8:]]))
    assert log.damaged == () and len(log.connections) == 6 and {len(c.ranks) for c in log.communicators()} == {2, 4}


@pytest.mark.parametrize(
    ("message", "whole"),
    [
        ("Channel 00/0 : 0[0] -> 1[1] via P2P/IPC", True),
        ("Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/1/GDRDMA", True),
        ("Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/1", False),  # of NET/IB/1/GDRDMA, perhaps
        ("NCCL_MAX_CTAS set by environment to 1", False),  # of 16
        ("NCCL_MAX_CTAS set by environment to 16.", True),
    ],
)
def test_a_last_line_without_its_newline_counts_where_it_can_not_go_on(message, whole):
    log = parse_debug_log(f"node1:1:2 [0] NCCL INFO {message}")
    assert (len(log.connections) + len(log.settings) == 1, log.damaged == ()) == (whole, whole)
