"""Other output within the rows of a table, and a table within a log: read as if nothing had come between, or counted as broken."""

import re
from pathlib import Path

import pytest
from yours.made_tables import run, times

from helpers.nccl import TableError, nccl_tests_tables
from helpers.yours import is_my_number_good
from helpers.yours.tables.printing import printed

WHOLE = printed("H200", "all_reduce", 8, "2.29.2", times(run("H200")) | {1 << 33: 31.3e-3, 1 << 35: 0.1252})
HEAD = [line for line in WHOLE.split("\n") if line.startswith(("#  Rank", "# nThread", "#       ", "# Coll"))]
ROWS = [line for line in WHOLE.split("\n") if re.match(r" *\d", line)]
INFO = "node-0:9000:9041 [0] NCCL INFO AllReduce: 8 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..23}\n"
OTHER = "node-0:9003:9044 [3] NCCL INFO Channel 07/0 : 3[3] -> 4[4] via P2P/CUMEM\n"
WARN = "\n[2026-03-02 11:22:33] node-0:9001:9042 [1] misc/ibvwrap.cc:82 NCCL WARN Call to ibv_open_device failed\n"
TORCH = "[rank1]:[W302 11:22:33.123456789 ProcessGroup.cpp:4561] Warning: a device was guessed (function operator())\n"
PYTHON = "W0302 11:22:33.456000 9001 torch/distributed/run.py:766] Setting OMP_NUM_THREADS\n"
IBVERBS = "libibverbs: Warning: couldn't load driver 'libother-rdmav34.so'\n"


def cut(noise, *places, rows=ROWS, text=WHOLE):
    """The text, with noise in those rows before their last letter that stands in one of these columns."""
    for row in rows:
        pieces = [row[start:end] for start, end in zip((0, *places), (*places, None), strict=True)]
        text = text.replace(row, noise.join(pieces))
    return text


def marked(text):
    return "".join(f"[1,0]<stdout>:{line}\n" for line in text.split("\n"))


VARIANTS = {
    "behind the root": cut(INFO, 52),
    "behind both halves": cut(INFO, 52, 83),
    "eighty lines of several ranks": cut((INFO + OTHER) * 40, 52),
    "a warning, which begins with a new line": cut(WARN, 52, 83),
    "torch's own": cut(TORCH, 83),
    "torch's launcher": cut(PYTHON, 83),
    "another library": cut(IBVERBS, 52),
    "within a number": cut(OTHER, 20, 57, 66),
    "within a word": cut(INFO, 36),
    "within the first number": cut(INFO, 8),
    "with mpirun's marks": marked(cut(INFO, 52)),
    "a container's name, which begins with digits": cut(INFO, 52, 83).replace("node-0", "3f2a9c41d7e0"),
    "hosts of several lengths": cut(INFO, 52, 83) + OTHER.replace("node-0", "another-node-17"),
    "within the head": OTHER + cut(OTHER, 30, 60, rows=HEAD),
    "at the ends of the head's lines": "\n".join(line + OTHER if line in HEAD else line for line in WHOLE.split("\n")),
    "everywhere, the table in a log": OTHER * 9 + WARN + cut(OTHER, 1, 30, 52, 70, 83) + OTHER * 9,
    "a mark before each of three writes": "\n".join(
        f"[0] {line[:52]}[0] {line[52:85]}[0] {line[85:]}" if line in ROWS else f"[0] {line}"
        for line in WHOLE.split("\n")
    ),
    "a row behind half of a line": WHOLE.replace(ROWS[9], f"{OTHER[:50]}{ROWS[9]}"),
}


@pytest.mark.parametrize("text", VARIANTS.values(), ids=VARIANTS)
def test_a_row_in_pieces_is_a_row(text):
    found, whole = is_my_number_good(text), is_my_number_good(WHOLE)
    assert len(found.points) == len(ROWS) and found.points == whole.points, found.refused
    assert set(found.accused) <= {"warning"} and "left out" not in found.sentence


def test_the_public_fault():
    found = is_my_number_good((Path(__file__).parents[1] / "faults" / "01-row-in-pieces.txt").read_text())
    assert found.what.startswith("all_reduce over 2 ranks: 2 sizes, 256 MiB to 1 GiB")
    assert found.sentence.startswith("The best is 201 GB/s busbw at 1 GiB") and not found.accused


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        (lambda row: row[:40] + INFO + row[60:], "1 row was broken by other output and left out"),
        (lambda row: row[:52] + INFO + row[83:], "1 row was broken by other output and left out"),
        (lambda row: row[:56] + INFO + "7" + row[57:], "1 row was broken by other output and left out"),
        (lambda row: row[:40] + INFO + INFO, "1 row was broken by other output and left out"),
    ],
    ids=["letters lost", "a half lost", "a digit too many", "no end"],
)
def test_what_cannot_be_put_together_is_counted(gone, said):
    found = is_my_number_good(WHOLE.replace(ROWS[5], gone(ROWS[5])))
    assert said in found.sentence and len(found.points) == len(ROWS) - 1, found.refused
    assert found.points == tuple(p for p in is_my_number_good(WHOLE).points if p.nbytes != int(ROWS[5].split()[0]))


def test_no_number_is_made_up():
    """A row cut anywhere, with any part of it lost: what is read of it is what stood there."""
    right = nccl_tests_tables(WHOLE)[0].rows
    for lost in (1, 2, 7, 20):
        for at in range(1, len(ROWS[5]) - lost, 3):
            text = WHOLE.replace(ROWS[5], ROWS[5][:at] + INFO + ROWS[5][at + lost :])
            try:
                (table,) = nccl_tests_tables(text)
            except TableError:
                continue
            read = {row.nbytes: row.timings for row in table.rows}
            assert all(read.get(row.nbytes, row.timings) == row.timings for row in right), (lost, at)
