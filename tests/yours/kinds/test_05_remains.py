"""What is left of a table: its average, rows without a head, a head without rows, a table that is cut."""

import re
from pathlib import Path

import pytest
from yours.made_tables import run, times

from helpers.yours import is_my_number_good
from helpers.yours.tables.printing import printed

WHOLE = printed("H200", "all_reduce", 8, "2.29.2", times(run("H200")))
LINES = WHOLE.split("\n")
ROWS = [line for line in LINES if re.match(r" *\d", line)]
HEAD = LINES[: LINES.index(ROWS[0])]
END = LINES[LINES.index(ROWS[-1]) + 1 :]
AVERAGE = next(line for line in END if "Avg" in line)
OLD = "      262144        131072     half     sum    51.04    5.14    8.99  2e-03    50.87    5.15    9.02  2e-03"


def told(*lines):
    return "\n".join(lines)


AVERAGES = {
    "the public fault": (Path(__file__).parents[1] / "faults" / "05-only-the-last-two-lines.txt").read_text(),
    "one line": AVERAGE,
    "with the prompt": told(
        "user@node:~$ ./build/all_reduce_perf -b 8 -e 8G -f 2 -g 8 | tail -4", *END, "user@node:~$ "
    ),
    "with a clock and a host": told(*(f"2026-01-02T03:04:05Z node-0: {line}" for line in END)),
    "with the head, without rows": told(*HEAD, *END),
    "dots for the rows": told(*HEAD, "...", *END),
    "as Windows writes it": "\r\n".join(END),
    "of two runs": told(AVERAGE, "# Avg bus bandwidth    : 12.5 "),
    "in a sentence": f"we only get {AVERAGE.strip('# ')} on this node, is that good?",
    "without its sign": AVERAGE.strip("# "),
    "a number": "97.3 GB/s",
}


@pytest.mark.parametrize("text", AVERAGES.values(), ids=AVERAGES)
def test_an_average_alone(text):
    found = is_my_number_good(text)
    assert (found.kind, found.what, found.accused) == ("nccl-tests", "an average, or a number alone", ("average",))
    assert "GB/s alone says nothing: an average over sizes is low where many" in found.sentence
    assert "of the best size's" in found.sentence and found.line_rate is None


def test_an_average_of_wrong_results_says_so():
    found = is_my_number_good("# Out of bounds values : 16 FAILED\n# Avg bus bandwidth    : 97.3\n")
    assert found.accused == ("wrong results", "average") and "16 values were out of bounds" in found.causes[0].why


@pytest.mark.parametrize("rows", [ROWS[-5:], [*ROWS[-9:-6], "...", *ROWS[-3:]], ROWS[-2:]])
def test_an_average_of_more_than_is_shown_says_so(rows):
    why = {one.name: one.why for one in is_my_number_good(told(*rows, *END)).causes}["average"]
    assert "of which some are missing here" in why
    assert "from 512 B on, and no property" in {one.name: one.why for one in is_my_number_good(WHOLE).causes}["average"]


READ = {  # and how many sizes are left
    "rows alone": (told(*ROWS), len(ROWS)),
    "one row": (ROWS[-1], 1),
    "the end of a run": (told(*ROWS[-5:], *END), 5),
    "the beginning of a run": (told(*HEAD, *ROWS[:8]), 8),
    "the beginning, cut within a row": (told(*HEAD, *ROWS[:8]) + "\n" + ROWS[8][:60], 8),
    "cut before a row's last word": (told(*HEAD, *ROWS[:8]) + "\n" + ROWS[8].rstrip(" 0"), 9),
    "cut within a row at both ends": (told(ROWS[0][47:], *ROWS[1:8]) + "\n" + ROWS[8][:60], 7),
    "behind a pipe of docker": (told(*(f"worker-0  | {row}" for row in ROWS)), len(ROWS)),
    "one half": (told(*(row[:85] for row in ROWS)), len(ROWS)),
    "a layout of 2.11": (OLD, 1),
    "some rows left out": (told(*ROWS[:3], "...", *ROWS[-3:]), 6),
}


@pytest.mark.parametrize(("text", "left"), READ.values(), ids=READ)
def test_what_is_left_is_read(text, left):
    found = is_my_number_good(text)
    assert len(found.points) == left and found.what.startswith("all_reduce over 8 ranks"), found.refused
    assert found.accused == ()
    assert ("The last row is not whole" in found.sentence) == text.endswith((ROWS[8][:60], ROWS[8].rstrip(" 0")))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (told(*HEAD), "the run ended, or hangs, before its first size was finished"),
        (told(*HEAD, ROWS[0][:52]), "the run ended, or hangs, before its first size was finished"),
        (told(*HEAD[5:]), "the run ended, or hangs, before its first size was finished"),
        ("        0  0   float    34.27  0.00  0.00  N/A  33.57  0.00  0.00  N/A", "no line above names its columns"),
        (ROWS[3].replace("0.2", "0.7"), "no line above names its columns"),
        (
            re.sub("(?m)^   +(?=\\d)", " 2 ", re.sub("# +size", "nodes size", WHOLE)),
            "a column that nccl-tests does not print stands before size",
        ),
    ],
    ids=[
        "a head",
        "a size that hangs",
        "names of columns",
        "two layouts alike",
        "a row that contradicts itself",
        "a column more",
    ],
)
def test_what_says_nothing_is_refused(text, why):
    assert why in is_my_number_good(text).refused


OFF = OLD.replace("2e-03", "1e+00")
ALLTOALL = "   268435456       1048576    float           520935    0.52    0.51  0e+00   519562    0.52    0.51  1e+00"
BEFORE = "#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\n"


@pytest.mark.parametrize(
    ("text", "accused", "why"),
    [
        (f"{BEFORE}{OFF}\n", ["wrong results"], "some elements of the results were wrong"),
        (f"{BEFORE}{OLD}\n", [], ""),
        (
            f"{BEFORE}{ALLTOALL}\n# Out of bounds values : 0 OK\n",
            [],
            "alltoall does not work in place: results there are off by 1",
        ),
        (f"{WHOLE}{BEFORE}{ALLTOALL}\n", [], "alltoall does not work in place: results there are off by 1"),
    ],
    ids=["both halves", "rounding", "in place of alltoall", "of the second table"],
)
def test_results_that_an_old_table_shows_to_be_off(text, accused, why):
    found = is_my_number_good(text)
    assert not found.refused and list(found.accused) == accused
    assert why in " ".join(one.why for one in found.causes if one.name == "wrong results")


def test_of_collectives_that_a_table_cannot_tell_apart_each_is_named():
    pair = "  1073741824  268435456  float  sum  -1  9306.7  115.37  115.37  0  9291.5  115.56  115.56  0"
    assert is_my_number_good(pair).what.startswith("all_reduce over 2 ranks or sendrecv: 1 size")
