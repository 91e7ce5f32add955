"""Texts that came by way of a web page, an editor or a broken writer: read as what they are, or refused by the documented error."""

import json
import re
from pathlib import Path

import nccl_tests_print as synthetic
import pytest

from helpers.nccl import TableError, TopologyError, parse_nccl_tests, parse_topo

HERE = Path(__file__).parent
ARTICLE = (HERE / "tables" / "article-4xh100-all_reduce.txt").read_text()
H100 = (HERE / "topologies" / "4xh100-article.txt").read_text()


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\t", "\x1f", "\ufeff"])
def test_spaces_of_a_web_page_are_spaces(space):
    assert parse_nccl_tests(ARTICLE.replace(" ", space)) == parse_nccl_tests(ARTICLE)
    assert parse_topo(H100.replace(" ", space)) == parse_topo(H100)
    report = json.dumps(json.loads(synthetic.report()), indent=4)
    in_lines = re.sub(r"^ +", lambda found: space * len(found[0]), report, flags=re.M)
    assert parse_nccl_tests(in_lines) == parse_nccl_tests(report)


def test_the_mark_before_a_file_of_windows_hides_no_settings():
    begins = "\ufeff" + ARTICLE[ARTICLE.index("# nThread") :]
    assert parse_nccl_tests(begins).settings == parse_nccl_tests(ARTICLE).settings is not None
    assert parse_nccl_tests("\ufeff" + synthetic.report()) == parse_nccl_tests(synthetic.report())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("nThread 1 ", "nThread \u0661 ", "this should read like: nThread 1"),
        ("Rank  3", "Rank  \u0663", "this should read like: Rank  0"),
        ("\n     1048576", "\n     \u00b9048576", "this looks like a row, but does not begin with a size"),
        ("\n     1048576", "\n" + "9" * 16, f"size is a whole number of at most 15 digits, got '{'9' * 16}'"),
        ("  28.06", "  2B.06", "time is a number that is not negative, got '2B.06'"),
    ],
)
def test_digits_are_those_that_printf_prints(old, new, said):
    assert ARTICLE.count(old) == 1
    with pytest.raises(TableError, match=re.escape(said)):
        parse_nccl_tests(ARTICLE.replace(old, new))


def test_what_a_script_says_of_its_ranks_is_no_damaged_list_of_devices():
    said = "".join(f"Rank {rank} of 4 is ready\n" for rank in range(4))
    assert parse_nccl_tests(said + ARTICLE).rows[0].nbytes == parse_nccl_tests(ARTICLE).rows[0].nbytes
    with pytest.raises(TableError, match="this should read like: Rank  0"):
        parse_nccl_tests(ARTICLE.replace("#  Rank  3 Group", "#  Rank  3 Gro"))


def test_the_first_of_two_damaged_columns_is_named():
    spread = ("  20.12    20.12    20.12     0.00", "  x20.1    20.12    20.12     0.0x")
    text = synthetic.text(spread=True)
    assert text.count(spread[0]) == 1
    with pytest.raises(TableError, match=r"i_min is a number that is not negative, got 'x20\.1'"):
        parse_nccl_tests(text.replace(*spread))


def test_a_digit_of_another_script_is_no_device():
    with pytest.raises(TopologyError, match="no line with GPU0"):
        parse_topo(H100.replace("GPU3", "GPU\u0663"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"type":"float"', '"type":["float"]', "result 1: no type and operation of nccl-tests: ['float'], 'sum'"),
        ('"redop":"sum"', '"redop":{"sum":1}', "result 1: no type and operation of nccl-tests: 'float', {'sum': '1'}"),
        ('"    -1"', '"\u00b2"', "result 1: root is a rank, or -1 where there is none, got '\u00b2'"),
        ('"    -1"', f'"{"9" * 5000}"', "result 1: root is a rank, or -1 where there is none, got '999"),
        ('"nwrong":0.000000', '"nwrong":0.500000', "result 1: nwrong counts elements, got '0.500000'"),
        ('"ngpus":4', '"ngpus":4000000', "ngpus is a whole number of at most 6 digits, got '4000000'"),
        ('"env":[]', '"env":' + "[" * 30 + "]" * 30, "is nested 31 levels deep, expected at most 20: a report"),
    ],
)
def test_a_strange_report_is_refused_and_not_stumbled_over(old, new, said):
    assert old in synthetic.report()
    with pytest.raises(TableError, match=re.escape(said)):
        parse_nccl_tests(synthetic.report().replace(old, new, 1))


def test_a_report_that_ends_too_soon_is_quoted_where_it_ends():
    """It stands in one line, so the number of the line says nothing."""
    cut = synthetic.report().partition('"in_place"')[0]
    with pytest.raises(TableError, match=re.escape("behind these words on; it reads: ")) as told:
        parse_nccl_tests(cut)
    assert str(told.value).endswith(cut.rstrip(",")[-60:])
    lines = json.dumps(json.loads(synthetic.report()), indent=1).split("\n")
    with pytest.raises(TableError, match=r"^line 20: ") as told:
        parse_nccl_tests("\n".join([*lines[:20], "?", *lines[20:]]))
    assert lines[19].strip().rstrip(",") in str(told.value)


def test_a_report_without_a_result_is_none():
    told = json.loads(synthetic.report()) | {"results": []}
    with pytest.raises(TableError, match="it has no list of results"):
        parse_nccl_tests(json.dumps(told))
