"""python -m helpers.ranks, alone: what it prints, what it counts, what it refuses."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import warm

from helpers.collectives import PRIMITIVES, find_primitive
from helpers.ranks import RankError, primitives, recorded
from helpers.ranks import __main__ as module
from helpers.ranks.command.options import parser
from helpers.ranks.timing import columns
from helpers.ranks.timing.columns import ITEM, TESTED, Line, Side, measure, sizes
from helpers.ranks.timing.timing import Timing

ROOT = Path(__file__).parents[2]


def test_alone_it_starts_four_ranks_and_shows_all_ten(four):
    command = [sys.executable, "-m", "helpers.ranks", "--backend", "gloo"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout == "4 ranks, gloo, CPU\n\n" + primitives.text(four.run(primitives.perform_all))
    assert re.findall(r"^(\w+) +dist\.", shown.stdout, re.M) == list(PRIMITIVES)


def test_bench_prints_a_row_for_every_size():
    sizes = ("-b", "512", "-e", "8K", "-i", "2", "-w", "0", "-r", "1")
    shown = warm.run("-m", "helpers.ranks", "-n", "2", "bench", "all_reduce", "scatter", *sizes)
    rows = [line.split() for line in shown.stdout.splitlines() if not line.startswith("#")]
    assert shown.returncode == 0, shown.stderr
    assert [row[:5] for row in rows] == [
        ["512", "128", "float", "sum", "-1"],
        ["2048", "512", "float", "sum", "-1"],
        ["8192", "2048", "float", "sum", "-1"],
        ["512", "64", "float", "none", "1"],
        ["2048", "256", "float", "none", "1"],
        ["8192", "1024", "float", "none", "1"],
    ]
    assert {len(row) for row in rows} == {15}
    assert shown.stdout.count("# Out of bounds values : 0 OK") == 2
    assert "# all_reduce by torch on 2 ranks, gloo, CPU" in shown.stdout


def test_record_measures_the_named_traces_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    assert module.main(["record", "trace-ring-emulated"]) == 0
    assert re.fullmatch(
        r"trace-ring-emulated: [\d.]+ ms, 24 messages on 4 ranks, gloo, CPU, .*\n", capsys.readouterr().out
    )
    assert [path.name for path in tmp_path.iterdir()] == ["trace-ring-emulated.json"]
    assert module.main(["record", "trace-ring-emulated", "ring"]) == 2, "told before anything is measured"
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("helpers.ranks: no trace 'ring': there is trace-ring-cpu, ")


@pytest.mark.parametrize("collective", TESTED)
@pytest.mark.parametrize("n", [2, 3])
def test_torchs_collectives_are_right_and_counted_as_nccl_tests_counts(pools, collective, n):
    nbytes = ITEM * n * 50
    line = pools[n].run(measure, collective, nbytes, None, n - 1, 0, 1)[0]
    sides = [side for side in (line.out_of_place, line.in_place) if side]
    both = 2 if collective in ("all_gather", "reduce_scatter") else 1
    assert len(sides) == both and line.wrong == 0 and line.nbytes == nbytes
    kind = find_primitive(collective).kind
    assert line.count == nbytes // ITEM // (1 if kind == "whole" else n)
    assert line.root == (n - 1 if collective in ("reduce", "broadcast", "scatter", "gather") else None)


PLAYABLE = [key for key, build in module.columns.CATALOGUE.items() if not build(nranks=2).nswitches]


@pytest.mark.parametrize("key", PLAYABLE, ids=" ".join)
def test_the_catalogue_has_columns_too(two, key):
    line = two.run(measure, key[0], 400, key[1], 1, 0, 1)[0]
    assert line.wrong == 0 and line.out_of_place and bool(line.in_place) == (find_primitive(key[0]).kind == "whole")


@pytest.mark.parametrize("collective", TESTED)
def test_one_wrong_element_on_one_rank_is_counted(two, collective):
    """Spoil one element of what rank 1 received; where only rank 0 receives, nobody sees rank 1's."""

    def spoilt():
        original = columns._Side.wrong

        def wrong(side, *args):
            result = side.result

            def with_a_mistake():
                got = result()
                if got is not None and torch.distributed.get_rank() == 1:
                    got = got.clone()
                    got.view(-1)[3] += 1
                return got

            side.result = with_a_mistake
            return original(side, *args)

        columns._Side.wrong = wrong
        try:
            return measure(collective, 400, None, 1, 0, 1).wrong
        finally:
            columns._Side.wrong = original

    sides = 2 if collective in ("all_gather", "reduce_scatter") else 1
    assert two.run(spoilt) == [sides, sides]


def test_where_ranks_share_a_gpu_a_row_is_checked_and_not_timed(two):
    line = two.run(measure, "all_gather", 400, None, 0, 0, 1, False)[0]
    assert (line.wrong, line.seconds, line.busbw) == (0, None, None)
    assert columns.row(line).split()[5:] == ["N/A", "N/A", "N/A", "0"] * 2 + ["N/A", "N/A"]
    assert line.as_json()["in_place"] == {"wrong": 0} and line.as_json()["seconds"] is None


def test_bench_alone_is_an_all_reduce_up_to_16_mib():
    options = parser(module.__doc__).parse_args(["bench"])
    assert (options.collectives, options.begin, options.end, options.factor) == (["all_reduce"], 2**10, 2**24, 4)


def test_bandwidths_are_nccl_tests():
    """Factors of its PERFORMANCE.md, and a row of a published table: 1 GiB over 4 GPUs, 356 GB/s busbw from 237 algbw."""
    factors = {"all_reduce": 1.5, "all_gather": 0.75, "reduce_scatter": 0.75, "all_to_all": 0.75, "gather": 0.75}
    factors |= {"scatter": 0.75, "broadcast": 1, "reduce": 1, "send_recv": 1}
    side = Side(Timing(0.001, 0.002, 5), 0)
    for collective, factor in factors.items():
        assert Line(collective, 10**6, 4, None, side, None).bandwidths(0.001) == (1e9, factor * 1e9)
    assert factors.keys() == set(TESTED)
    text = columns.row(Line("all_reduce", 2**20, 4, None, None, Side(Timing(0.001, 0.002, 5), 3)))
    assert text.split() == [
        *("1048576", "262144", "float", "sum", "-1", "N/A", "N/A", "N/A", "N/A"),
        *("1000.00", "1.05", "1.57", "3", "N/A", "2000.00"),
    ]
    assert columns.footer([Line("all_reduce", 4, 2, None, side, side._replace(wrong=3))]).endswith(": 3 FAILED")


def test_sizes():
    assert sizes(1024, 65536, 4, 4) == [1024, 4096, 16384, 65536]
    assert sizes(1000, 9000, 3, 3) == [996, 3000, 9000]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("bench", "all_sum"), "bench takes all_reduce, .*, got 'all_sum'"),
        (("bench", "scatter", "-a", "tree"), "no scatter by 'tree': there is flat"),
        (("bench", "-b", "4", "-n", "4"), r"at least 16 B \(one element per rank\) .*, got 4 to 16777216 by 4"),
        (("bench", "-b", "1M", "-e", "1K"), "sizes go from .* got 1048576 to 1024 by 4"),
        (("bench", "-b", "x"), r"a size looks like 512, 1K or 64M, got 'x'"),
        (("bench", "-i", "0"), "a whole number above 0, got '0'"),
        (("-r", "4"), r"the root is a rank in 0\.\.3, got 4"),
        (("-n", "1"), "a collective takes at least 2 ranks, these are 1"),
        (("-n", "99"), r"the number of ranks lies in 1\.\.64, got 99"),
        (("--backend", "mpi"), "invalid choice: 'mpi'"),
        (("--timeout", "-1"), "timeout is a number of seconds > 0 .*, got -1"),
    ],
)
def test_bad_options_are_told_in_one_line(monkeypatch, capsys, arguments, said):
    try:
        code = module.main(["--backend", "gloo", *arguments] if "--backend" not in arguments else list(arguments))
    except SystemExit as left:
        code = left.code
    err = capsys.readouterr().err
    assert code == 2 and err.count("\n") == 1 and re.search(said, err), err


def test_help_says_how_to_run_it(capsys):
    for arguments in ([], ["bench"]):
        with pytest.raises(SystemExit) as left:
            module.main([*arguments, "--help"])
        assert left.value.code == 0
    said = capsys.readouterr().out
    assert "torchrun --nproc-per-node 4 -m helpers.ranks" in said and "64M" in said


def test_a_wrong_number_is_an_exit_code(monkeypatch, capsys, two):
    moved = two.run(primitives.perform_all)
    spoilt = [[m._replace(after=[99]) if m.name == "reduce_scatter" else m for m in rank] for rank in moved]
    options = parser(module.__doc__).parse_args([])
    said = []
    assert module._show(options, lambda *_: spoilt, 2, "2 ranks", lambda text, **_: said.append(text)) == 1
    assert "WRONG: on paper [10]" in said[1]
    assert module._show(options, lambda *_: moved, 2, "2 ranks", lambda text, **_: None) == 0


def test_a_rank_that_fails_is_an_exit_code(monkeypatch, capsys):
    def fail(*_):
        raise RankError("rank 1 raised KeyError", [], [])

    monkeypatch.setattr(module, "_show", fail)
    monkeypatch.setattr(module, "_ranks", lambda _: contextlib.nullcontext((None, "2 ranks", True)))
    assert module.main(["-n", "2", "--backend", "gloo"]) == 1
    assert capsys.readouterr().err == "RankError: rank 1 raised KeyError\n"
