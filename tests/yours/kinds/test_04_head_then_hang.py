"""Kind 04: a table's head and no row, with the log before it: the log is judged, and that no size was finished is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.yours import is_my_number_good

FAULT = (Path(__file__).parents[1] / "faults" / "04-header-then-hang.txt").read_text()
LINES = FAULT.split("\n")
HEAD = [line for line in LINES if "algbw" in line or "(GB/s)" in line or "out-of-place" in line]
LOG = [line for line in LINES if "NCCL INFO" in line]


def test_the_log_before_a_head_without_rows():
    found = is_my_number_good(FAULT)
    assert found.kind == "log" and found.accused == ()
    assert "2 P2P/direct pointer" in found.sentence and "NCCL_P2P_LEVEL=SYS" in found.sentence
    assert "No size was finished." in found.sentence and found.causes[-1].name == "no size finished"


WAY = "ws-12:3301:3320 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0"
SHM = "ws-12:3301:3320 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct"
CUT = "ws-12:3301:3320 [0] NCCL INFO comm 0xa rank 0 nranks 2 cudaDev 0 busId 1000 commId 0x1 - Init START"
VARIANTS = {
    "head first": ([*HEAD, *LOG], ()),
    "head last": ([*LOG, *HEAD], ()),
    "no list of devices": ([*LOG, "#", *HEAD], ()),
    "killed": ([*LOG, *HEAD, "^C", "user@ws-12:~$"], ()),
    "a launcher's prefix": ([f"[1,0]<stdout>:{line}" for line in [*LOG, *HEAD]], ()),
    "only the names of columns": ([*LOG, HEAD[1]], ()),
    "Windows": (["\r\n".join([*LOG, *HEAD, ""])], ()),
    "the log between": ([*HEAD[:1], *LOG, *HEAD[1:]], ()),
    "sockets": ([*LOG, WAY, *HEAD], ("wrong path",)),
    "host memory": ([*LOG, SHM, *HEAD], ("wrong path",)),
    "never complete": ([*LOG, CUT, *HEAD], ("truncated log",)),
}


@pytest.mark.parametrize(("lines", "accused"), VARIANTS.values(), ids=VARIANTS.keys())
def test_wherever_the_run_stood(lines, accused):
    found = is_my_number_good("\n".join(lines))
    assert found.kind == "log" and "No size was finished." in found.sentence and found.accused == accused, str(found)


def test_a_log_alone_and_a_log_that_only_names_a_column_were_not_in_a_run():
    for lines in (LOG, [*LOG, "the busbw was low"]):
        assert "No size was finished." not in is_my_number_good("\n".join(lines)).sentence
