"""Real output of nccl-tests is read to the last number, and what is damaged, mixed or of another kind is refused with its line."""

import re
import tomllib
from pathlib import Path

import nccl_tests_print as synthetic
import pytest

from helpers.nccl import NcclDevice, NcclSettings, TableError, nccl_tests_tables, parse_nccl_tests
from helpers.units import GB, Bandwidth

HERE = Path(__file__).parent
SOURCES = tomllib.loads((HERE / "sources.toml").read_text())["tables"]
TEXTS = {path.stem: path.read_text() for path in (HERE / "tables").glob("*.txt")}
TABLES = {name: source.get("tables") or [source["found"]] for name, source in SOURCES.items() if "error" not in source}
ARTICLE = TEXTS["article-4xh100-all_reduce"]


def test_every_text_has_its_source():
    assert set(TEXTS) == set(SOURCES)
    assert all(source["url"].startswith(("https://", "unknown: ")) and source["odd"] for source in SOURCES.values())
    assert len({source["nccl"] for source in SOURCES.values() if "nccl" in source}) >= 5


@pytest.mark.parametrize("name", TABLES)
def test_what_is_read_is_what_was_counted(name):
    tables = nccl_tests_tables(TEXTS[name])
    assert len(tables) == len(TABLES[name])
    for table, found in zip(tables, TABLES[name], strict=True):
        first = [row.out_of_place or row.in_place for row in table.rows]
        assert len(table.rows) == found["rows"] and len(table.devices) == found["devices"]
        assert (table.collective, table.nranks) == (found.get("collective"), found.get("nranks"))
        assert "bytes" not in found or sum(row.nbytes for row in table.rows) == found["bytes"]
        assert sum(timing.busbw for timing in first) / GB == pytest.approx(found["busbw"], abs=1e-6)
        assert "wrong" not in found or sum(timing.wrong for timing in first) == found["wrong"]
        average = None if table.average_busbw is None else pytest.approx(table.average_busbw / GB)
        assert found.get("average") == average
        assert table.tests == SOURCES[name].get("tests") and table.nccl in (
            None,
            SOURCES[name].get("nccl", "").split(",")[0],
        )


@pytest.mark.parametrize("name", TABLES)
def test_every_number_stands_in_its_line(name):
    lines = TEXTS[name].splitlines()
    for row in (row for table in nccl_tests_tables(TEXTS[name]) for row in table.rows):
        numbers = {
            float(number) for number in re.findall(r"\d+\.?\d*(?:e[+-]\d+)?", lines[row.line - 1].replace("_", ""))
        }
        for timing in row.timings:
            told = [timing.algbw / GB, timing.busbw / GB, *([] if timing.seconds is None else [timing.seconds * 1e6])]
            told += [value for value in (timing.wrong, timing.error) if value is not None]
            assert all(any(value == pytest.approx(number) for number in numbers) for value in told), lines[row.line - 1]


def test_a_header_is_read_whole():
    table = parse_nccl_tests(TEXTS["gh200-16-wrong-all_reduce"])
    assert table.settings == NcclSettings(1, 1, 1, 134217728, 2, True, 1, 20, 1, 1, 0)
    assert table.devices[13] == NcclDevice(13, 0, 93771, "gpu-1-51", 1, "0019:01:00", "NVIDIA GH200 120GB")
    assert table.rows[8].in_place.wrong == 9609 and table.rows[-1].in_place.wrong == 0
    assert parse_nccl_tests(TEXTS["rtx5090-one-alltoall"]).settings.factor is False


def test_what_was_not_checked_is_none_and_not_nothing_wrong():
    assert parse_nccl_tests(TEXTS["rtx5090-one-alltoall"]).rows[0].in_place.wrong is None
    superbench = parse_nccl_tests(TEXTS["superbench-8xa100-allreduce"])
    assert superbench.rows[4].out_of_place.error is None and superbench.out_of_bounds is None
    unchecked = parse_nccl_tests(ARTICLE.replace("validation: 1", "validation: 0"))
    assert unchecked.rows[0].out_of_place.wrong is None and unchecked.out_of_bounds is None
    assert parse_nccl_tests(TEXTS["deepops-roce-all_reduce"]).rows[0].out_of_place.error == 2e-07


def test_a_row_as_values():
    row = parse_nccl_tests(ARTICLE).rows[17]
    assert (row.nbytes, row.count, row.dtype, row.redop, row.root) == (1 << 20, 1 << 18, "float", "sum", None)
    assert row.out_of_place.seconds == 28.06e-6 and row.in_place.algbw == 38.32e9
    assert row.out_of_place.bus == Bandwidth(56.05e9, "one way", "GPU", "measured")
    assert parse_nccl_tests(ARTICLE).rows[0].out_of_place.bus is None
    assert ARTICLE.splitlines()[row.line - 1].split()[:2] == ["1048576", "262144"]
    assert parse_nccl_tests(TEXTS["superbench-8xa100-broadcast"]).rows[0].root == 0


def test_a_table_says_what_it_is():
    assert str(parse_nccl_tests(ARTICLE)) == "all_reduce over 4 ranks: 28 sizes, 8 B to 1 GiB; NCCL 2.26.2"
    assert (
        str(parse_nccl_tests(TEXTS["efa-2x-t4-elided"]))
        == "all_reduce over 2 ranks or sendrecv: 5 sizes, 256 KiB to 4 MiB"
    )
    wrong = parse_nccl_tests(TEXTS["gh200-16-wrong-all_reduce"])
    assert str(wrong).endswith("; nccl-tests 2.17.9; NCCL 2.29.2")


def test_the_command_says_which_program_ran_where_the_numbers_leave_two():
    text = TEXTS["v100-8-all_gather-2.4"]
    assert parse_nccl_tests("all_gather_perf -g 8 -b 4294967296\n" + text).collective == "all_gather"
    assert parse_nccl_tests("all_reduce_perf -g 8 -b 4294967296\n" + text).collective is None


@pytest.mark.parametrize(
    "before",
    [
        "0: ",
        "node-1: ",
        "[node-1] ",
        "[pod/worker-0/nccl] ",
        "2026-11-23T14:00:00.123Z ",
        "14:00:00 ",
        "worker-0  | ",
        "> ",
        "    ",
        "[1,0]<stdout>:",
    ],
)
def test_what_a_launcher_puts_before_each_line_changes_nothing(before):
    shifted = "".join(before + line + "\r\n" for line in ARTICLE.splitlines())
    assert parse_nccl_tests(shifted) == parse_nccl_tests(ARTICLE)


def test_tables_of_both_kinds_stand_in_one_text_in_order():
    text = "Here is a run.\n" + TEXTS["article-4xh100-torch"] + "\n\nAnd another:\n\n" + ARTICLE + "\n"
    torch, nccl = nccl_tests_tables(text)
    assert (
        torch.rows[0].in_place.seconds is None
        and torch.rows[0].out_of_place is None
        and nccl.line > torch.rows[-1].line
    )
    assert (len(torch.rows), len(nccl.rows)) == (20, 28)


def test_colours_change_nothing():
    assert parse_nccl_tests(re.sub(r"(?m)^(.)", "\x1b[32m\\1\x1b[0m", ARTICLE)) == parse_nccl_tests(ARTICLE)


@pytest.mark.parametrize(
    "options", [{}, {"spread": True}, {"stamps": True}, {"spread": True, "stamps": True}, {"clock": "cputime"}]
)
def test_the_layouts_of_the_newest_version(options):
    table = parse_nccl_tests(synthetic.text(**options))
    assert (
        [row.nbytes for row in table.rows] == list(synthetic.MADE)
        and table.nccl == "2.30.7"
        and table.tests == "2.19.6"
    )
    half = 0.5 if options.get("clock") else 1
    times = [(row.out_of_place.seconds, row.in_place.seconds) for row in table.rows]
    for shown, made in zip(times, synthetic.MADE.values(), strict=True):
        assert shown == pytest.approx([time * half * 1e-6 for time in made], rel=3e-3)


def test_numbers_that_are_wider_than_their_columns(monkeypatch):
    """12.5 s are printed 1.2e+07 µs, and 88 TB/s 87961."""
    monkeypatch.setattr(synthetic, "MADE", {1 << 40: (12.5e6, 11.4e6), 1 << 44: (200.1e6, 2e5)})
    rows = parse_nccl_tests(synthetic.text()).rows
    assert [row.out_of_place.seconds for row in rows] == [12.0, 200.0]
    assert rows[1].in_place.algbw == 87961e9 and "1.2e+07" in synthetic.text()


def test_json_is_the_same_run():
    told, text = parse_nccl_tests(synthetic.report()), parse_nccl_tests(synthetic.text())
    assert (told.collective, told.nranks, told.nccl, told.settings.step) == ("all_reduce", 4, "2.30.7", 1024)
    assert [row.nbytes for row in told.rows] == [row.nbytes for row in text.rows] and [
        row.line for row in told.rows
    ] == [1, 2, 3]
    assert told.rows[1].out_of_place.seconds == 28.0625e-6 and told.rows[0].root is None and told.out_of_bounds == 0
    assert told.average_busbw == pytest.approx(text.average_busbw, rel=1e-4)


def row_of(text, size="1048576"):
    return next(line for line in text.splitlines() if line.split()[:1] == [size])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  37.36", "  47.36", "1048576 B in 28.06 µs are 37.37 GB/s, but algbw says 47.36"),
        ("  28.06", "  2806", "1048576 B in 2806 µs are 0.3737 GB/s, but algbw says 37.36"),
        ("  56.05", "  65.05", "busbw 65.05 is 1.741 of algbw 37.36"),
        ("262144", "262145", "262145 elements of float are 1048580 B, which is no whole part of 1048576 B"),
        ("1048576", "1048577", "1048576 B, which is no whole part of 1048577 B"),
        (" float", " flo4t", "a type is one of int8"),
        (" sum", " sun", "redop is one of sum, prod, max, min, avg, mulsum or none, got 'sun'"),
        ("  38.32", "", "a row has 13 columns"),
        ("  38.32", "  nan", "algbw is a number that is not negative, got 'nan'"),
        ("  38.32", "  -38.32", "algbw is a number that is not negative, got '-38.32'"),
        ("     1048576", "     1O48576", "this looks like a row, but does not begin with a size"),
        (
            "     float     sum      -1    28.06   37.36   56.05      0    27.36   38.32   57.48      0",
            "",
            "it ends too soon",
        ),
        ("float     sum      -1", "float     sum       0", "busbw 56.05 is 1.5 of algbw 37.36"),
    ],
)
def test_a_damaged_row_is_refused_with_its_line(old, new, said):
    row = row_of(ARTICLE)
    assert row.count(old) >= 1
    damaged = ARTICLE.replace(row, row.replace(old, new, 1))
    with pytest.raises(TableError, match=re.escape(said)) as told:
        parse_nccl_tests(damaged)
    assert told.value.line == ARTICLE.splitlines().index(row) + 1 and f"line {told.value.line}:" in str(told.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.replace(row_of(t) + "\n", ""), "the mean busbw of the 27 rows above is between"),
        (lambda t: t.replace("98.414", "89.414"), "the mean busbw of the 28 rows above"),
        (
            lambda t: t.replace("values : 0 OK", "values : 0 FAILED"),
            "0 values out of bounds, FAILED, while the rows count 0 wrong",
        ),
        (lambda t: t.replace("(us)", "(ms)"), "units that nccl-tests does not print: (ms)"),
        (
            lambda t: t.replace("busbw #wrong     time", "busbw #wrong     t1me"),
            "columns that no version of nccl-tests from 2.4 to 2.19 has",
        ),
        (lambda t: t.replace("#       size", "#       sizf"), "a row, but no line above names its columns"),
        (lambda t: t.replace("Rank  3", "Rank  2"), "rank 2 was named in line 7 already"),
        (lambda t: t.replace("Rank  3", "Rnk  3"), "this should read like: Rank  0"),
        (lambda t: t.replace("Pid  16629", "Pid  16K29"), "this should read like: Rank  0"),
        (lambda t: t.replace("maxBytes", "maxBytse"), "this should read like: nThread 1"),
        (lambda t: t.replace("all_reduce_perf", "all_reduec_perf"), "a program of nccl-tests is one of"),
        (lambda t: t.replace("all_reduce_perf", "all_gather_perf"), "all_gather over 4 ranks has that not"),
        (lambda t: t[: t.index("           8  ")], "no row follows the names of the columns"),
        (
            lambda t: t.replace(
                "out-of-place                       in-place", "in-place                       out-of-place"
            ),
            "in-place stands before",
        ),
        (lambda t: t + "\nNCCL version 2.18.3\n" + t, "2 tables, which begin in lines"),
        (lambda t: t + row_of(t), "a row, but no line above names its columns"),
        (lambda t: "", "this is no output of nccl-tests: no line with size, time, algbw and busbw was found"),
        (lambda t: b"", "the output of nccl-tests is text, got bytes"),
    ],
)
def test_a_damaged_table_is_refused(change, said):
    with pytest.raises(TableError, match=re.escape(said)):
        parse_nccl_tests(change(ARTICLE))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("|   1MiB |  34.50GBps |  23.00GBps |", "|   1M", "a row reads like: | 32KiB | 1.44GBps | 0.82GBps |"),
        (
            "|    1MiB |  34.50GBps |  23.00GBps |",
            "",
            "a row, but no line above names its columns: payload, busbw, algbw",
        ),
        ("34.50GBps", "34.50GB/s", "a bandwidth reads like 1.44GBps, got '34.50GB/s'"),
        ("34.50GBps", "43.50GBps", "all_reduce over 4 ranks has that not"),
        ("1MiB", "1MB", "sizes in powers of 1024"),
    ],
)
def test_a_damaged_table_of_payloads_is_refused(old, new, said):
    text = TEXTS["article-4xh100-torch"]
    row = next(line for line in text.splitlines() if "  1MiB |" in line)
    damaged = new if old.startswith("|") else row.replace(old, new)
    with pytest.raises(TableError, match=re.escape(said)):
        parse_nccl_tests(text.replace(row, damaged))


def test_a_list_of_devices_that_is_not_whole_says_no_number_of_ranks():
    text = TEXTS["superbench-8xa100-broadcast"]
    last = next(line for line in text.splitlines() if "Rank  7" in line)
    assert parse_nccl_tests(text).nranks == 8 and parse_nccl_tests(text.replace(last + "\n", "")).nranks is None


@pytest.mark.parametrize("name", [name for name, source in SOURCES.items() if "error" in source])
def test_texts_that_are_none_say_why(name):
    with pytest.raises(TableError, match=re.escape(SOURCES[name]["error"])):
        nccl_tests_tables(TEXTS[name])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"bus_bw"', '"bus"', "result 1: 'bus_bw' is missing"),
        ('"size":1048576', '"size":1048577', "result 2: 262144 elements of float"),
        ('"time":28.062500', '"time":82.062500', "result 2: 1048576 B in 82.062500 µs"),
        (
            '"nccl_version":23007',
            '"nccl_version":"new"',
            "nccl_version is a whole number of at most 15 digits, got 'new'",
        ),
        ('"results"', '"result"', "it has no list of results"),
        ('"end_time":""}', "", "this begins as JSON and is none"),
        ('"float"', '"bool"', "result 1: no type and operation of nccl-tests: 'bool', 'sum'"),
    ],
)
def test_a_damaged_report_is_refused(old, new, said):
    with pytest.raises(TableError, match=re.escape(said)):
        parse_nccl_tests(synthetic.report().replace(old, new, 1))


def test_a_half_that_was_not_run_is_none_and_a_cut_row_is_no_half():
    """writeBenchMarkLineNullBody prints 32 spaces in the place of the numbers out of place."""
    lines = [line for line in ARTICLE.splitlines() if not line.startswith("# Avg")]
    half = [
        line if line.startswith("#") or not line[:12].strip().isdigit() else line[:52] + " " * 32 + line[84:]
        for line in lines
    ]
    table = parse_nccl_tests("\n".join(half))
    assert all(row.out_of_place is None for row in table.rows) and table.rows[17].in_place.seconds == 27.36e-6
    with pytest.raises(TableError, match=r"a row has 13 columns .*, got 9"):
        parse_nccl_tests("\n".join(line if line.startswith("#") else line[:84] for line in lines))
