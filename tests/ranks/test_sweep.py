"""A sweep: what it sets, what NCCL's log says of it, what it refuses before anything starts."""

from __future__ import annotations

import json
import re

import pytest
import replaying

from helpers.meanwhile import Count
from helpers.ranks import sweep
from helpers.ranks.machine import gpus
from helpers.ranks.sweeping import places, settings
from helpers.ranks.sweeping import sweep as module
from helpers.ranks.sweeping.found import Case, Swept, SweptRow, Took
from helpers.ranks.sweeping.readback import read_back, took_effect
from helpers.ranks.sweeping.settings import Asked, combinations
from helpers.ranks.timing.columns import Line, Side
from helpers.ranks.timing.timing import Timing


def here(monkeypatch, count: int, version: tuple[int, ...] = (2, 27, 5)) -> None:
    found = gpus.Gpus(tuple(gpus.Gpu("NVIDIA H100", f"GPU-{i}", free=80 * 10**9) for i in range(count)))
    monkeypatch.setattr(places, "find_gpus", lambda: found)
    monkeypatch.setattr("helpers.ranks.machine.devices.find_gpus", lambda: found)
    monkeypatch.setattr(module.sharing, "nccl_version", lambda: version)


@pytest.fixture
def replayed(monkeypatch):
    """Sixteen GPUs, and ranks that replay a real log."""
    here(monkeypatch, 16)
    made = type("Made", (replaying.Replayed,), {"started": []})
    monkeypatch.setattr(module, "Ranks", made)
    return made


def test_every_combination_has_its_ranks_and_its_environment(replayed):
    found = sweep("all_reduce", algo=("tree", "Ring"), proto=("LL", "LL128"), channels=8, begin="1 KiB", end="4 KiB")
    assert [(case.asked, case.outcome) for case in found.cases] == [
        (Asked(algorithm, protocol, 8), "ran") for algorithm in ("Tree", "Ring") for protocol in ("LL", "LL128")
    ]
    assert [env["NCCL_ALGO"] + " " + env["NCCL_PROTO"] for env in replayed.started] == [
        *("AllReduce:Tree AllReduce:LL", "AllReduce:Tree AllReduce:LL128"),
        *("AllReduce:Ring AllReduce:LL", "AllReduce:Ring AllReduce:LL128"),
    ]
    assert all((env["NCCL_MIN_CTAS"], env["NCCL_MAX_CTAS"]) == ("8", "8") for env in replayed.started)
    assert len({env["NCCL_DEBUG_FILE"] for env in replayed.started}) == 4, "nobody reads another's log"


def test_what_was_taken_is_read_back_from_rank_0s_log(replayed):
    found = sweep("all_reduce", algo=("Tree", "Ring"), proto=("LL", "auto"), begin=1024, end=4096)
    assert {row.took for row in found.rows} == {Took("Tree", "LL", 1)}
    assert [row.took_effect for row in found.rows] == [True, True] * 2 + [False, False] * 2
    assert found.failed and found.wrong == 0
    (first, *_) = found.rows
    assert (first.nbytes, first.seconds, first.algbw, first.busbw) == (1024, 2**-20, 2**30, 2**30 * 30 / 16)


def test_without_settings_it_is_nccls_own_choice(replayed):
    found = sweep("all_reduce", begin=1024, end=1024)
    assert [str(case.asked) for case in found.cases] == ["NCCL's own choice"]
    assert replayed.started[0].keys() == {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"}
    assert found.rows[0].took == Took("Tree", "LL", 1) and found.rows[0].took_effect and not found.failed


def test_what_no_nccl_has_is_told_and_not_started(replayed):
    found = sweep("all_reduce", algo=("NVLS", "PAT"), proto=("LL", "Simple"), begin=1024, end=1024)
    assert [(case.outcome, case.why) for case in found.cases] == [
        ("impossible", "NVLS has no LL: Simple alone"),
        ("ran", ""),
        *[("impossible", f"NCCL has no all_reduce by PAT: {', '.join(settings.HAS['all_reduce'])}")] * 2,
    ]
    assert len(replayed.started) == 1
    assert "# NVLS/LL: impossible: NVLS has no LL: Simple alone" in str(found)


def test_what_this_nccl_refuses_is_told_in_its_own_words(replayed):
    replayed.refuses = True
    found = sweep("all_reduce", algo="NVLS", begin=1024, end=1024)
    (case,) = found.cases
    assert case.outcome == "refused" and case.why.startswith("Error : no algorithm/protocol available for function")
    assert not found.failed and found.rows == () and "# combinations: 1 refused\n" in str(found)


def test_words_of_a_refusal_in_a_log_that_went_on_refuse_nothing(replayed, monkeypatch):
    monkeypatch.setattr(replaying, "CHOICES", replaying.CHOICES + replaying.REFUSED)
    (case,) = sweep("all_reduce", begin=1024, end=1024).cases
    assert (case.outcome, case.why, len(case.rows)) == ("ran", "", 1)


def test_what_the_log_does_not_tell_is_no_failure():
    """NCCL's version is that of the first combination that ran."""
    row = SweptRow(Asked("Ring"), "all_reduce", 2, 1024, Timing(2.0, 4.0, 5), 0, None, None)
    cases = Case(Asked("NVLS", "LL"), "impossible", "no"), Case(row.asked, "ran", version="2.29.3", rows=(row,))
    found = Swept("all_reduce", 2, "2 ranks", False, cases)
    assert not found.failed and found.version == "2.29.3"
    told = {"nbytes": 1024, "seconds": 2.0, "median": 4.0, "algbw": 512.0, "busbw": 512.0, "wrong": 0}
    assert row.as_json() == told | dict.fromkeys(("algorithm", "protocol", "channels", "took_effect"))


def test_out_of_place_counts_where_a_collective_has_it_and_the_deadline_is_the_readers(replayed, monkeypatch):
    seen, made = [], replayed.__init__

    def init(ranks, n, **told):
        seen.append(told["timeout"])
        made(ranks, n, **told)

    line = Line("all_gather", 1024, 16, None, Side(Timing(1e-5, 1e-5, 1), 0), Side(Timing(2e-5, 2e-5, 1), 0))
    monkeypatch.setattr(replayed, "__init__", init)
    monkeypatch.setattr(replayed, "run", lambda *_: [line])
    found = sweep("all_gather", begin=1024, end=1024, timeout=7.0)
    assert (found.rows[0].seconds, seen) == (1e-5, [7.0])


def test_one_combination_that_fails_does_not_end_the_others(replayed):
    replayed.breaks = True
    found = sweep("all_reduce", algo=("Ring", "Tree"), begin=1024, end=1024)
    assert [(case.outcome, case.why) for case in found.cases] == [("failed", "rank 1 is gone")] * 2 and found.failed


def test_rows_before_a_failure_are_kept(replayed, monkeypatch):
    def run(ranks, fn, collective, nbytes, *rest):
        replayed.breaks = nbytes > 1024
        return real(ranks, fn, collective, nbytes, *rest)

    real = replaying.Replayed.run
    monkeypatch.setattr(replayed, "run", run)
    found = sweep("all_reduce", begin=1024, end=4096)
    (case,) = found.cases
    assert (case.outcome, case.why, [row.nbytes for row in case.rows]) == ("failed", "rank 1 is gone", [1024])
    assert "# NCCL's own choice: failed: rank 1 is gone" in str(found) and found.rows[0].took == Took("Tree", "LL", 1)


def test_it_prints_and_becomes_json(replayed):
    replayed.wrong = 3
    found = sweep("all_reduce", algo="Ring", proto="LL", begin=1024, end=1024)
    assert re.search(r"^Ring/LL +1024 +Tree/LL +NO +1 +0\.95 +1\.91 +1\.07 +2\.01 +3$", str(found), re.M), str(found)
    assert str(found).endswith("# combinations: 1 ran\n# Out of bounds values : 3 FAILED")
    said = json.loads(json.dumps(found.as_json()))
    assert said["label"] == "16 ranks, nccl, 16 x NVIDIA H100" and said["timed"] and said["direction"] == "one way"
    (case,) = said["cases"]
    assert case["env"] == {"NCCL_ALGO": "AllReduce:Ring", "NCCL_PROTO": "AllReduce:LL"} and case["algorithm"] == "Ring"
    assert case["rows"][0]["algorithm"] == "Tree" and case["rows"][0]["took_effect"] is False


def test_progress_is_told_in_rows_of_the_whole(replayed, monkeypatch):
    said = []
    monkeypatch.setattr(Count, "at", lambda self, i, what: said.append((i, what)))
    sweep("all_reduce", algo=("Ring", "Tree"), begin=1024, end=4096)
    assert [i for i, _ in said] == [0, 0, 1, 2, 2, 3]
    assert said[0][1] == "Ring/auto: fresh ranks" and said[1][1] == "Ring/auto: all_reduce of 1024 B"


def test_several_ranks_on_one_gpu_are_labelled_and_not_timed(replayed, monkeypatch):
    seen = []
    monkeypatch.setenv(places.VISIBLE, "3,4")
    found_here = gpus.Gpus((gpus.Gpu("NVIDIA H100", "GPU-3", free=80 * 10**9),))

    def asked():
        seen.append(places.os.environ[places.VISIBLE])
        return found_here

    monkeypatch.setattr(places, "find_gpus", asked)
    monkeypatch.setattr("helpers.ranks.machine.devices.find_gpus", asked)
    found = sweep("all_reduce", algo="Ring", nranks=3, one_gpu=True, begin=1200, end=1200)
    assert found.label == "3 ranks on one GPU (NVIDIA H100): true for correctness, logs and choice, not for time"
    assert set(seen) == {"3"} and places.os.environ[places.VISIBLE] == "3,4"
    assert found.shared and [(row.seconds, row.busbw) for row in found.rows] == [(None, None)]
    assert not found.as_json()["timed"] and re.search(r"Ring/auto +1200 .* - +- +- +- +0$", str(found), re.M)


@pytest.mark.parametrize(
    "count, arguments, said",
    [
        (0, {}, "a sweep needs NVIDIA GPUs: what it sets is NCCL's, and none is usable here"),
        (0, {"one_gpu": True}, "a sweep needs NVIDIA GPUs"),
        (
            1,
            {},
            r"2 ranks want 2 GPUs, 1 can be used here: with one_gpu=True \(--one-gpu\) they share the first, true for",
        ),
        (4, {"nranks": 8}, "8 ranks want 8 GPUs, 4 can be used here"),
        (4, {"nranks": 1}, "a collective takes at least 2 ranks, got 1"),
        (4, {"nranks": 65}, r"the number of ranks lies in 1\.\.64, got 65"),
        (4, {"collective": "all_to_all"}, "a sweep takes all_reduce, .*, got 'all_to_all'"),
        (4, {"proto": "LL64"}, "a protocol of NCCL's is LL, LL128, Simple or auto, got 'LL64'"),
        (4, {"algo": ("Ring", 3)}, "an algorithm of NCCL's is Tree, Ring, .* or auto, got 3"),
        (4, {"channels": 0}, r"channels are a whole number in 1\.\.64 or auto, got 0"),
        (4, {"channels": "many"}, "got 'many'"),
        (4, {"warmup": -1}, "warmup is a whole number of at least 0, got -1"),
        (4, {"iters": 0}, "iters is a whole number of at least 1, got 0"),
        (4, {"begin": "8 B"}, "at least 16 B"),
        (4, {"begin": "1 MiB", "end": "1 KiB"}, "sizes go from"),
    ],
)
def test_bad_input_is_refused_before_anything_starts(monkeypatch, count, arguments, said):
    here(monkeypatch, count)
    monkeypatch.setattr(module, "Ranks", lambda *_, **__: pytest.fail("ranks were started"))
    with pytest.raises((ValueError, TypeError), match=said):
        sweep(**arguments)


def test_a_setting_of_the_environment_would_hold_for_all(monkeypatch):
    here(monkeypatch, 4)
    monkeypatch.setenv("NCCL_PROTO", "Simple")
    with pytest.raises(
        ValueError, match=r"a sweep sets NCCL_ALGO, NCCL_PROTO, .* by itself; unset here: NCCL_PROTO=Simple"
    ):
        sweep(proto="LL")


@pytest.mark.parametrize(
    "name", ["NCCL_ALGO", *(f"NCCL_{m}_{of}" for m in ("MIN", "MAX") for of in ("CTAS", "NCHANNELS"))]
)
def test_every_name_of_what_a_sweep_varies_is_refused(name):
    with pytest.raises(ValueError, match=f"unset here: {name}=1$"):
        settings.free({name: "1"})


def test_the_ends_of_what_may_be_asked():
    settings.repeats(0, 1)
    assert combinations(channels=("64", 1)) == [Asked(None, None, 64), Asked(None, None, 1)]
    assert all(Asked(name).impossible("reduce_scatter") == "" for name in ("Ring", "CollNetDirect", "NVLS", "PAT"))


@pytest.mark.parametrize("before", ["", None])
def test_gpus_that_were_hidden_stay_hidden(monkeypatch, before):
    monkeypatch.delenv(places.VISIBLE, raising=False)
    if before is not None:
        monkeypatch.setenv(places.VISIBLE, before)
    with places.one_gpu_visible(True):
        assert places.os.environ[places.VISIBLE] == ("0" if before is None else "")
    assert places.os.environ.get(places.VISIBLE) == before


def test_before_2_24_a_setting_is_of_all_collectives():
    asked = combinations("Ring", ("LL", "auto"), (4, "auto"))
    assert asked[0].env("all_gather", (2, 23, 4)) == {
        "NCCL_ALGO": "Ring",
        "NCCL_PROTO": "LL",
        "NCCL_MIN_CTAS": "4",
        "NCCL_MAX_CTAS": "4",
    }
    assert asked[1].env("reduce_scatter", (2, 24, 3)) == {
        "NCCL_ALGO": "ReduceScatter:Ring",
        "NCCL_PROTO": "ReduceScatter:LL",
    }
    assert asked[3] == Asked("Ring") and combinations() == [Asked()]
    assert combinations(proto=("LL", "ll")) == [Asked(None, "LL")], "each once"


def test_read_back_of_real_logs():
    said = read_back(replaying.CHOICES, "all_reduce", 16)
    assert said.took[4].channels == 1 and said.version is None and said.refusal == ""
    rings = read_back(replaying.RINGS, "all_reduce", 16)
    assert (rings.rings, rings.version, rings.read["NCCL_NVLS_ENABLE"]) == (16, "2.29.3", "0")
    assert read_back("nothing of NCCL", "all_reduce", 4) == ({}, {}, None, None, "")
    old = "n:1:1 [0] NCCL INFO 262144 Bytes -> Algo 0 proto 1 time 54.707825\n"  # NVIDIA/nccl#1453
    assert read_back(old, "all_reduce", 8).took == {262144: Took("Tree", "LL128")}
    each = "n:1:1 [0] NCCL INFO AllGather: 515200 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..23}\n"  # NVIDIA/nccl#1906
    assert read_back(each, "all_gather", 8).took == {8 * 515200: Took("Ring", "LL", 24)}
    assert read_back(each, "all_reduce", 8).took == {}


def test_what_was_told_most_often_counts_and_the_largest_communicator():
    def line(algo: str) -> str:
        return f"n:1:1 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo {algo} proto LL channel{{Lo..Hi}}={{0..3}}\n"

    for order in (("TREE", "RING", "RING"), ("RING", "RING", "TREE")):
        assert read_back("".join(map(line, order)), "all_reduce", 8).took == {1024: Took("Ring", "LL", 4)}
    rings = "".join(f"n:1:1 [0] NCCL INFO Channel 00/{many} : 0 1\n" for many in ("02", "16", "04"))
    assert read_back(rings, "all_reduce", 2).rings == 16
    unknown = 'n:1:1 [0] graph/tuning.cc:117 NCCL WARN Unrecognized element token "NVLX" when parsing "NVLX"\n'
    assert read_back(unknown, "all_reduce", 2).refusal.startswith("Unrecognized element token")


@pytest.mark.parametrize(
    "asked, took, rings, said",
    [
        (Asked(), None, None, True),
        (Asked("Ring"), None, 4, None),
        (Asked("Ring", "LL"), Took("Ring", "LL", 2), 4, True),
        (Asked("Ring", "LL"), Took("Ring", "Simple", 2), 4, False),
        (Asked(None, "LL"), Took("Tree", "LL", 2), 4, True),
        (Asked(None, None, 4), Took("Tree", "LL", 2), 4, True),
        (Asked(None, None, 4), Took("Tree", "LL", 2), 16, False),
        (Asked(None, None, 4), Took("NVLS", "Simple", 4), 16, True),
        (Asked(None, None, 4), Took("NVLS", "Simple", 16), 4, False),
        (Asked(None, None, 4), Took("Tree", "LL"), 4, None),
    ],
)
def test_did_it_take_effect(asked, took, rings, said):
    assert took_effect(asked, took, rings) is said
