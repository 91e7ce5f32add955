"""One quantity, one value: what several labs keep for their pages is the same in all of them, and a name means one thing."""

import json
import re
from functools import cache
from pathlib import Path

import pytest

from helpers.view import keep

ROOT = Path(__file__).resolve().parents[2]
LABS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
MIME = "application/vnd.bytes-in-motion.values+json"

# What is told by several labs, as "lab:key". A value may carry fewer digits in one of them, never another number.
SHARED = {
    "an A100's ridge, bf16": ("roofline:a100_ridge", "memory-hierarchy:ridge_memory", "execution-model:ridge"),
    "an H100's ridge, bf16": ("roofline:h100_ridge", "memory-hierarchy:worth_memory"),
    "the tile that an A100's memory feeds": ("memory-hierarchy:tile_memory", "roofline:tile_need"),
    "the tile that its shared memory feeds": ("memory-hierarchy:tile_shared", "execution-model:square_a100"),
    "FLOP per byte of its shared memory": ("memory-hierarchy:ridge_shared", "execution-model:shared_a100"),
    "its shared memory's bandwidth": ("memory-hierarchy:shared", "execution-model:a100_shared"),
    "that of one SM": ("memory-hierarchy:per_sm", "execution-model:a100_shared_sm"),
    "its registers' bandwidth": ("memory-hierarchy:registers", "execution-model:a100_registers"),
    "Llama-2-7B in 16 bits": ("memory-hierarchy:weights", "roofline:weights", "too-big:seven_grads", "units:grads_gib"),
    "its activations, one sequence": ("too-big:seven_kept", "too-big:ours_kept"),
    "Adam's numbers for it": ("too-big:seven_states", "too-big:optimizer_freed"),
    "its peak, AdamW as a loop": ("too-big:seven", "too-big:seven_peak"),
    "H100 or A100 for 70 billion parameters": ("too-big:gpus", "training-memory:gpus"),
    "bytes a parameter, fp32 copy and moments": ("too-big:per_param", "training-memory:per_bf16"),
}
# Names that labs chose for different things before this test was there; a new one needs another name.
HOMONYMS = {"buffer", "erratum", "half", "many", "naive", "off", "ring_64", "ring_steps"}


@cache
def kept(lab):
    """All that a lab keeps, from its stored outputs. ValueError for a name kept twice."""
    values = {}
    for cell in json.loads((ROOT / f"notebooks/{lab}.ipynb").read_text())["cells"]:
        for output in cell.get("outputs", []):
            new = output.get("data", {}).get(MIME, {})
            if twice := values.keys() & new:
                raise ValueError(f"{lab} keeps {sorted(twice)} twice")
            values |= new
    return values


def number(text):
    """(value, digits behind the point, unit) of "12.55 GiB" or "19.5 TB/s both ways"; a direction is no unit."""
    found = re.fullmatch(r"([\d,]+)(?:\.(\d+))?\s*(.*?)(?: (?:both|one) ways?)?", text)
    if found is None:
        raise ValueError(f"expected a number and a unit, got {text!r}")
    return float(text[: found.end(2) if found[2] else found.end(1)].replace(",", "")), len(found[2] or ""), found[3]


def agree(one, other):
    """Whether two kept texts are one value, told with more digits or fewer; a unit that one of them leaves out agrees."""
    (a, digits, unit), (b, others, other_unit) = number(one), number(other)
    least = min(digits, others)
    close = round(a, least) == round(b, least) or abs(a - b) <= 0.5 * 10**-least
    return close and (unit == other_unit or not (unit and other_unit))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("12.55 GiB", "12.6 GiB", True),
        ("12.6 GiB", "12.3 GiB", False),
        ("307", "320", False),
        ("32", "33", False),
        ("459", "464", False),
        ("16", "16 bytes", True),
        ("19.5 TB/s", "19.5 TB/s both ways", True),
        ("80 GB", "80 GiB", False),
        ("2,199", "2199", True),
    ],
)
def test_texts_agree_when_one_only_rounds_the_other(one, other, same):
    assert agree(one, other) == agree(other, one) == same


@pytest.mark.parametrize("quantity", SHARED)
def test_what_labs_share_has_one_value(quantity):
    told = {where: kept(where.partition(":")[0])[where.partition(":")[2]] for where in SHARED[quantity]}
    first, *others = told.values()
    assert all(agree(first, other) for other in others), told


def test_a_name_that_two_labs_keep_is_one_quantity():
    names = {name for lab in LABS for name in kept(lab)}
    told = {name: {lab: kept(lab)[name] for lab in LABS if name in kept(lab)} for name in names}
    differ = {name for name, values in told.items() if len(set(values.values())) > 1}
    assert differ <= HOMONYMS, {name: told[name] for name in differ - HOMONYMS}


def test_the_format_is_the_one_that_pages_read():
    assert keep.__globals__["MIME"] == MIME


def test_one_run_of_fused_and_tiled_operations_serves_both_labs():
    """The memory hierarchy's times, the roofline's gains and its roof are of the same recorded runs."""
    near, other = (json.loads((ROOT / f"recorded/{name}-cpu.json").read_text()) for name in ("near", "roofline"))
    rows = {row["op"]: row for row in near["data"]["rows"]}
    whole, tiled = (rows[f"polynomial, {how}"]["seconds"] for how in ("kernel by kernel", "tile by tile"))
    hierarchy, roofline = kept("memory-hierarchy"), kept("roofline")
    assert (hierarchy["whole_time"], hierarchy["tiled_time"]) == (f"{1e3 * whole:.1f} ms", f"{1e3 * tiled:.1f} ms")
    assert float(roofline["gained_polynomial"]) == pytest.approx(whole / tiled, abs=0.051)
    rates = {width: rows[f"C += AB, {width} wide"]["attained"] for width in (1, 64)}
    assert hierarchy["panel_1"] == f"{rates[1] / 1e9:.2g} GFLOP/s"
    assert float(roofline["gained_product"]) == pytest.approx(rates[64] / rates[1], abs=0.051)
    fastest = max(row["attained"] for row in [*near["data"]["rows"], *other["data"]["rows"]])
    assert roofline["here_flops"] == f"{max(fastest, other['data']['flops']) / 1e9:.0f} GFLOP/s"
    assert near["machine"] == other["machine"] and near["date"] == other["date"]
