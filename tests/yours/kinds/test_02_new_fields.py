"""Kind 02: what a later version adds behind the words of a line is read or passed over; the line is not damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.nccl import parse_debug_log
from helpers.yours import is_my_number_good

FAULT = (Path(__file__).parents[1] / "faults" / "02-receive-with-flush.txt").read_text()
HEAD = "h7:31:257 [0] NCCL INFO "
START = "ncclCommInitRankConfig comm 0x5f0 rank 1 nranks 4 cudaDev 1 nvmlDev 1 busId 2000"


def test_receive_lines_that_say_how_they_flush():
    found = is_my_number_good(FAULT)
    assert found.what == "a log of NCCL 2.31.2: 2 NET/IB with GDRDMA"
    assert found.accused == () and not parse_debug_log(FAULT).damaged


def read(*messages):
    log = parse_debug_log("".join(f"{HEAD}{message}\n" for message in messages), strict=True)
    assert log.damaged == ()
    return log


@pytest.mark.parametrize(
    ("message", "way"),
    [
        ("Channel 00/0 : 9[1] -> 0[0] [receive] via NET/IB/2/GDRDMA(PCI)/Shared/flush=Always", "NET/IB with GDRDMA"),
        ("Channel 03/0 : 1[1] -> 8[0] [send] via NET/IB/2(4)/GDRDMA/Shared, traffic class 3", "NET/IB with GDRDMA"),
        ("Channel 01/0 : 9[1] -> 0[0] [receive] via NET/IB/2/flush=None", "NET/IB without GDRDMA"),
        ("Channel 01/0 : 9[1] -> 0[0] [receive] via NET/IB/2/DirectNIC", "NET/IB"),
        ("Channel 02/0 : 0[0] -> 1[1] via P2P/CUMEM/read qp 4", "P2P/CUMEM/read"),
        ("Channel 02/0 : 0[0] -> 1[1] via P2P/direct pointer comm 0x7f nRanks 08", "P2P/direct pointer"),
        ("Channel 02 : 0[0] -> 1[1] via SHM/direct/direct, cuMem", "SHM/direct/direct"),
    ],
)
def test_a_way_is_what_its_known_words_say(message, way):
    assert read(message).transports() == {way: 1}


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("AllReduce: 64 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3} cgaClusterSize 4", "choices"),
        ("NVLS multicast support is available on dev 3, transport fabric, symmetric multimem supported", "nvls"),
        ("comm 0x5f0 rank 1 nRanks 4 nNodes 1 localRanks 4 localRank 1 MNNVL 0 cliqueId 7", "members"),
        (f"{START} commId 0x77 parent 0x5e0 childCount 1 color 0 key 1 - Init START", "members"),
        (
            f"{START} parent 0x5e0 color 0 key 1 commId 0x77 localSize 296 used 8 bytes on core 4 - Init START",
            "members",
        ),
        ("P2P Chunksize set to 131072 for 2 nodes", "chunks"),
        ("NCCL version 2.33.1+cuda13.3 (release)", "versions"),
        ("RCCL version : 2.22.3-develop:a1b2c3d", "versions"),
    ],
)
def test_a_line_with_more_behind_it_tells_what_it_told(message, told):
    assert len(getattr(read(message), told)) == 1


def test_a_communicator_that_was_split_off_is_named_by_its_id():
    (comm,) = read(f"{START} commId 0x77 parent 0x5e0 childCount 1 color 0 key 1 - Init COMPLETE").communicators()
    assert (comm.comm_id, comm.ranks, comm.members[0].complete) == ("0x77", (1,), True)


def test_a_level_between_warning_and_info():
    """NCCL ATTN, since 2.32."""
    text = "h7:31:257 [0] os/linux.cc:70 (ncclOsOpen) NCCL ATTN a limit is low\n"
    log = parse_debug_log(text)
    assert (log.notices, log.places) == ({1: "a limit is low"}, {1: "os/linux.cc:70"}) and log.damaged == ()
    assert is_my_number_good(text).accused == ()


@pytest.mark.parametrize(
    "message", ["Channel 00/0 : 1[1] -> 2[2] via P2", "NCCL version 2.33", "AllReduce: 4 Bytes -> Algo RI"]
)
def test_a_line_whose_known_words_are_cut_stays_damaged(message):
    assert len(parse_debug_log(f"{HEAD}{message}\n").damaged) == 1
