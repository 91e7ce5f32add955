"""Every warning of NCCL that is known, and what a text with several of them is said to come from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helpers.yours import is_my_number_good
from helpers.yours.causes import KINDS
from helpers.yours.logs.known import KNOWN, patterns, which

ROOT = Path(__file__).parents[2]
HEALTHY = sorted((ROOT / "tests" / "nccl" / "output" / "logs").glob("nccl-*.txt"))
REPAIR = set(re.findall(r"^\((.+)\)=$", (ROOT / "book" / "repair.md").read_text(encoding="utf-8"), re.MULTILINE))
NAMES = {one.name for one in KNOWN}


def line_of(one):
    """As NCCL prints it: its format filled, behind the place in its source."""
    assert len(re.findall("%", one.format)) == len(one.filled)
    return f"{one.place or 'misc/file.cc:1'} {one.example}"


@pytest.mark.parametrize("one", KNOWN, ids=lambda one: one.name)
def test_a_row_is_whole(one):
    assert all((one.pattern, one.format, one.versions, one.why, one.check, one.cure))
    assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull)/\d+", one.thread)
    assert one.repair in REPAIR and (ROOT / "book" / f"{one.chapter}.md").is_file()
    assert (KINDS[one.name].command, KINDS[one.name].repair) == (one.check, one.repair)


@pytest.mark.parametrize("one", KNOWN, ids=lambda one: one.name)
def test_a_line_of_nccls_fits_its_row_and_no_other(one):
    assert [other.name for pattern, other in patterns() if pattern.search(line_of(one))] == [one.name]
    place, _, message = line_of(one).partition(" ")
    found = is_my_number_good(f"\nnode-3:411:502 [1] {place} NCCL WARN {message}\n")
    assert found.causes[0].name == one.name and found.causes[0].accuses != one.mild
    assert one.mild or one.why[1:] in found.sentence
    assert one.cure in found.causes[0].why and found.lines[-1].endswith(one.thread)


def test_there_are_enough_and_each_once():
    assert len(KNOWN) >= 40 and len(NAMES) == len(KNOWN)


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_no_healthy_log_is_accused_of_one(path):
    found = set(is_my_number_good(path.read_text()).accused) & NAMES
    assert found == (
        {"card may not touch the memory"} if "choices" in path.stem else set()
    )  # that one ends in an error of a card


@pytest.mark.parametrize(
    "message",
    [
        "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.",
        "Call to connect returned Connection refused, retrying",
        "socketPollConnect: connect to 10.0.0.2<4> returned Connection refused, retrying (1/34) after sleep for 100 msec",
        "Failed to open libibverbs.so[.1]",
        "[Service thread] Connection closed by localRank 0",
        "P2P is disabled between connected GPUs 2 and 1. You can repress this message with NCCL_IGNORE_DISABLED_P2P=1.",
    ],
)
def test_what_is_told_and_is_no_warning_accuses_nothing(message):
    assert is_my_number_good(f"n1:1:2 [0] NCCL INFO {message}\n").accused == ()


SHM = "n1:1:7 [0] misc/shmutils.cc:87 NCCL WARN Error: failed to extend /dev/shm/nccl-a to 9 bytes, error: No space left on device (28)"
MADE = "n1:1:7 [0] misc/shmutils.cc:129 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-a (size 9)"
CLOSED = "n1:2:8 [1] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer n1<4>"
PROXY = (
    "n1:2:8 [1] proxy.cc:1519 NCCL WARN [Proxy Service 1] Failed to execute operation Connect from rank 1, retcode 6"
)
DUPLICATE = "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device c1000"
STRANGE = "n1:2:8 [1] new.cc:1 NCCL WARN Flux of the matrix is inverted"
WAY = "n1:1:7 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct"
TORCH = """\
[rank1]: torch.distributed.DistBackendError: NCCL error in: /src/NCCLUtils.hpp:317, {}, NCCL version 2.21.5
[rank1]: {}
[rank1]: Last error:
[rank1]: {}
"""


@pytest.mark.parametrize(
    ("lines", "accused", "others"),
    [
        ([SHM], ["shared memory full"], []),
        ([SHM.replace("n1:1:7 ", "")], ["shared memory full"], []),
        ([SHM.replace("n1:1:7 [0] ", "[1,0]<stdout>:")], ["shared memory full"], []),
        ([CLOSED, SHM, MADE, SHM], ["shared memory full"], ["peer went away", "no segment"]),
        ([PROXY, CLOSED], ["proxy failed", "peer went away"], []),
        ([STRANGE], ["warning"], []),
        ([STRANGE, CLOSED], ["warning"], ["peer went away"]),
        ([CLOSED, STRANGE, SHM], ["shared memory full"], ["warning", "peer went away"]),
        ([WAY, SHM, WAY], ["shared memory full", "wrong path"], []),
    ],
)
def test_the_root_is_told_first_and_what_follows_behind_it(lines, accused, others):
    found = is_my_number_good("\n".join(lines))
    assert list(found.accused) == accused, str(found)
    assert [one.name for one in found.causes if not one.accuses] == others


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (
            TORCH.format("unhandled cuda error", "ncclUnhandledCudaError: ...", "Cuda failure 2 'out of memory'"),
            "GPU memory full",
        ),
        (
            TORCH.format("unhandled system error", "ncclSystemError: ...", SHM.partition("WARN ")[2]),
            "shared memory full",
        ),
        (
            TORCH.format("remote process exited or ...", "ncclRemoteError: ...", CLOSED.partition("WARN ")[2]),
            "NCCL remote error",
        ),
        (TORCH.format("invalid usage", "ncclInvalidUsage: ...", DUPLICATE), "duplicate GPU"),
        (
            "node: Test NCCL failure common.cu:958 'unhandled system error (run with NCCL_DEBUG=INFO for details) / '",
            "NCCL system error",
        ),
        (DUPLICATE, "duplicate GPU"),
    ],
)
def test_errors_without_a_log(text, first):
    found = is_my_number_good(text)
    assert (found.kind, found.accused[0]) == ("log", first), str(found)
    assert is_my_number_good(f"{WAY.replace('SHM/direct/direct', 'P2P/IPC')}\n{text}").accused[0] == first


@pytest.mark.parametrize(
    "text",
    [
        "OSError: [Errno 24] Too many open files",
        "ConnectionResetError: Connection reset by peer",
        "socket.gaierror in getaddrinfo",
    ],
)
def test_words_that_any_program_writes_are_not_nccls(text):
    assert is_my_number_good(text).refused and which(text, named=False) is None


def test_a_long_text_is_searched_for_errors_by_name_only():
    many = "step 1: loss 2.5\n" * 10_000
    assert is_my_number_good(many).refused
    assert (
        is_my_number_good(many + TORCH.format("x", "ncclSystemError: y", "no socket interface found")).accused[0]
        == "no interface"
    )
