"""Seven stages and the peak: the article's table, the command, its files, and its refusals."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

from helpers.measure import Recipe, RecipeError, differences, profile_step
from helpers.measure.__main__ import main
from helpers.measure.profiling.plot import _steps, svg
from helpers.memory import CLASSES, Trace, unpack
from helpers.units import MIB

SMALL = {"layers": 2, "width": 64, "heads": 4, "ffn": 128, "batch": 4, "seq": 16}
PER_PARAMETER = [("fp32", 16), ("bf16", 16), ("bf16-fp32grads", 18), ("bf16-true", 8), ("autocast", 16)]
STAGES = ["empty", "model", "input", "after forward", "after backward", "after step", "after zero_grad"]


def test_the_articles_table_in_mebibytes():
    """Measured once on CPU tensors of full size, 72.15 to 2428.50 MiB, and predicted for CUDA."""
    found = {d.stage: ([round(n / MIB, 2) for n in d.cpu], round(d.cuda_like / MIB, 2)) for d in differences()}
    assert list(found) == [*STAGES, "the peak"]
    assert found["model"] == ([72.15] * 3, 72.15) and found["input"] == ([80.15] * 3, 80.15)
    assert found["after forward"] == ([1528.53, 1816.53, 2392.53], 977.28)
    assert found["after backward"] == ([160.30] * 3, 160.31)
    assert found["after step"] == ([304.61] * 3, 304.61)
    assert found["after zero_grad"] == ([232.46] * 3, 232.46)
    assert found["the peak"] == ([1564.50, 1852.50, 2428.50], 1019.26)


def test_a_recorded_run_on_cpu_tensors_of_full_size_is_the_first_column():
    stored = json.loads((Path(__file__).parents[2] / "recorded" / "memory" / "article-cpu.json").read_text())
    trace = unpack(stored["data"]["ranks"][0])
    assert trace.source == "tracked (CPU tensors)" and trace.about["batch"] == 32
    rows = {row.stage: row.cpu[0] for row in differences()}
    assert {name: nbytes for _, name, nbytes in trace.marks} == {name: rows[name] for name in STAGES[1:]}
    assert trace.peak.nbytes == rows["the peak"]


def test_every_difference_has_its_reason_and_the_printed_ones_are_multiples():
    rows = differences()
    assert all(len(row.why) > 7 for row in rows) and rows[-1].printed is None
    printed = [row.printed for row in rows[:-1]]
    assert [round(n / printed[1], 9) for n in printed[4:]] == [2, 4, 3]
    assert abs(18_914_304 * 4 / 1e6 - 75.66) < 0.005 and printed[1] == pytest.approx(18.9e6 * 4 / 1e6)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_stages_are_2p_then_4p_then_3p_beside_what_is_alive(device):
    found = profile_step(device=device, optimizer="adam", **SMALL)
    params, alive = 4 * found.nparams, 2 * found.stage("input").by_class["input"] + 4
    counts = 4 * 12 * 2  # a step count for each of 12 tensors of a layer
    assert [s.name for s in found.stages] == STAGES
    assert found.stage("model").nbytes == params
    assert found.stage("after backward").nbytes == 2 * params + alive
    assert found.stage("after step").nbytes == 4 * params + counts + alive
    assert found.stage("after zero_grad").nbytes == 3 * params + counts + alive
    assert found.peak.nbytes > max(s.nbytes for s in found.stages)
    assert all(sum(s.by_class.values()) == s.nbytes for s in found.stages)


def test_the_first_step_peaks_lower_than_the_second():
    once, twice = (profile_step(steps=steps) for steps in (1, 2))
    assert twice.peak.nbytes == once.peak.nbytes + 2 * 4 * once.nparams + 4 * 12 * 6
    assert [s.name for s in twice.stages][7:] == [f"{name}, step 2" for name in STAGES[3:]]


@pytest.mark.parametrize(("precision", "wide"), PER_PARAMETER, ids=str)
def test_bytes_per_parameter_after_the_step(precision, wide):
    """Mixed precision takes as many; with fp32 gradients two more; without the fp32 copy half."""
    found = profile_step(precision=precision, optimizer="adamw", **SMALL)
    after = found.stage("after step").by_class
    per = sum(after[cls] for cls in ("parameter", "gradient", "optimizer")) - 4 * 12 * 2
    assert per == wide * found.nparams, after


def test_checkpointing_lowers_the_peak_and_runs_more_operators():
    plain, full = (profile_step(checkpoint=kind, like_cuda=True) for kind in ("none", "full"))
    assert full.peak.nbytes < 0.5 * plain.peak.nbytes
    assert (
        full.stage("after forward").by_class["activation"] < 0.1 * plain.stage("after forward").by_class["activation"]
    )
    assert full.stage("after step").nbytes == plain.stage("after step").nbytes
    allocations = [sum(e.kind == "alloc" for e in found.trace.events) for found in (full, plain)]
    assert allocations[0] > allocations[1]


def test_foreach_adam_peaks_at_five_times_the_parameters():
    how = {"batch": 2, "seq": 64, "like_cuda": True}
    single, foreach, fused = (profile_step(optimizer=name, **how) for name in ("adamw", "adamw-foreach", "adamw-fused"))
    params = 4 * single.nparams
    assert [round(found.peak.nbytes / params, 2) for found in (fused, single, foreach)] == [4.01, 4.12, 5.01]
    assert {found.peak.phase for found in (single, foreach)} == {"step"}


def test_dropout_attention_and_the_device_change_what_is_kept():
    """24 + 3 as/h units of 4 sbh bytes a layer on CPU, 18.5 as on CUDA, 13 there without dropout (training-memory's table)."""

    def units(**how):
        found = profile_step(batch=32, seq=128, **how)
        kept = found.stage("after forward").by_class["activation"] - 8 * MIB  # the output is kept for the loss
        return kept / 6 / (32 * 128 * 512 * 4)

    assert units() == pytest.approx(24 + 3 * 8 * 128 / 512, rel=0.001)
    assert units(like_cuda=True) == pytest.approx(18.5, rel=0.003)
    assert units(like_cuda=True, dropout=0.0) == pytest.approx(13, rel=0.004)


# the command ---------------------------------------------------------------------------------------------------------
ASKED = ["--layers", "2", "--width", "64", "--heads", "4", "--ffn", "128", "--batch", "4", "--seq", "16"]


def test_the_command_prints_the_table_and_writes_its_files(tmp_path, capsys):
    assert main([*ASKED, "--device", "meta", "--json", f"{tmp_path}/s.json", "--plot", f"{tmp_path}/s.svg"]) == 0
    printed = capsys.readouterr().out.splitlines()
    data = json.loads((tmp_path / "s.json").read_text())
    rows = {re.split(r"\s{2,}", line)[0]: re.split(r"\s{2,}", line)[1:] for line in printed[3:-2]}
    assert rows["MiB"][:3] == ["alive", "change", "parameter"] and list(rows)[1:] == [*STAGES, "the peak"]
    assert [float(rows[s["name"]][0]) for s in data["stages"]] == [round(s["bytes"] / MIB, 2) for s in data["stages"]]
    assert float(rows["the peak"][0]) == round(data["peak"]["bytes"] / MIB, 2)
    assert printed[-1].startswith("The peak is in ") and data["settings"]["optimizer"] == "adamw"
    trace = Trace.from_json(data["trace"])
    assert trace.peak.nbytes == data["peak"]["bytes"] and sum(data["peak"][cls] for cls in CLASSES) == trace.peak.nbytes


def test_a_curve_has_its_corners_where_it_changes():
    plain = SimpleNamespace(x=lambda i: i, y=lambda nbytes: nbytes)
    corners = _steps(np.array([0, 0, 5, 5, 2]), plain)
    assert corners == ["0.0 0.0", "2.0 0.0", "2.0 5.0", "4.0 5.0", "4.0 2.0", "4.0 2.0"]


def test_the_picture_is_whole_and_stacks_what_is_there(tmp_path):
    found = profile_step(**SMALL)
    root = ElementTree.fromstring(svg(found.trace, "a <step> & more; on meta"))
    paths = {path.get("class"): path.get("d") for path in root.iter("{http://www.w3.org/2000/svg}path")}
    there = [cls for i, cls in enumerate(CLASSES) if found.trace.by_class[:, i].any()]
    assert list(paths) == there and "http" not in re.sub(r'xmlns="[^"]*"', "", svg(found.trace, "t"))
    tops = {cls: min(float(p.split()[1]) for p in d.strip("MZ").split(" L")) for cls, d in paths.items()}
    assert tops["temporary"] == min(tops.values())
    words = " ".join(text.text for text in root.iter("{http://www.w3.org/2000/svg}text"))
    assert f"peak {found.peak.nbytes / MIB:.2f} MiB" in words and all(name in words for name in STAGES[1:])


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["--width", "10"], "width is a multiple of heads, got width 10 and 8 heads"),
        (["--layers", "0"], "layers is a whole number from 1 on, got 0"),
        (["--dropout", "1"], "dropout is a probability below 1, got 1.0"),
        (["--device", "cpu", "--like-cuda"], "like_cuda is a prediction on the meta device, got device 'cpu'"),
        (["--json", "/no/such/folder/s.json"], "no folder to write /no/such/folder/s.json into"),
    ],
)
def test_bad_options_give_one_line(asked, says, capsys):
    assert main(asked) == 2
    out, err = capsys.readouterr()
    assert out == "" and err == f"python -m helpers.measure: {says}\n"


def test_unknown_options_are_refused_by_name(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--precision", "fp8"])
    assert ended.value.code == 2 and "invalid choice: 'fp8'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"precision": "fp8"}, "precision is one of fp32, bf16"),
        ({"optimizer": "lion"}, "optimizer is one of sgd"),
        ({"checkpoint": "some"}, "checkpoint is one of none"),
        ({"device": "tpu"}, "device is one of cpu, cuda, meta, got 'tpu'"),
        ({"batch": True}, "batch is a whole number from 1 on, got True"),
    ],
)
def test_bad_settings_are_refused_before_anything_runs(settings, says):
    with pytest.raises(RecipeError, match=re.escape(says)):
        Recipe(**settings)


@pytest.mark.matrix("commands in a Python of their own")
def test_the_module_runs_as_a_program():
    command = [sys.executable, "-W", "error", "-m", "helpers.measure", *ASKED, "--like-cuda"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=Path(__file__).parents[2])
    assert done.returncode == 0 and "operators as on CUDA" in done.stdout, done.stderr
