"""The recorded steps as the widget `holds` takes them, and what is said of a moment. Chapters: data-parallel, sharded."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from helpers.units import nbytes_text

RECORDED = Path(__file__).resolve().parents[3] / "recorded" / "holds-cpu.json"  # "holds-cpu"
NAMES = {"ddp": "DDP", "zero-1": "ZeRO-1", "zero-2": "ZeRO-2", "zero-3": "ZeRO-3", "fsdp2": "FSDP2"}
PHASES = ("start", "forward", "backward", "step", "end")
CLASSES = ("parameters", "gradients", "optimizer", "activations")
SAID = {
    "forward": "Forward of layer {unit} is done. What its backward will need stays: {kept} of activations.",
    "backward": "Backward of layer {unit} is done: its gradients are here, whole, and its activations are gone.",
    "all_gather": "all_gather of layer {unit}'s parameters, {nbytes}: each rank gives the part it owns and gets the others'.",
    "reduce_scatter": "reduce_scatter of layer {unit}'s gradients, {nbytes}: each rank gets the mean of the part it owns.",
    "all_reduce": "all_reduce of layer {unit}'s gradients, {nbytes}: every rank gets the mean of all of them.",
    "update": "The optimizer updates the part of layer {unit} that the rank owns.",
    "update all": "The optimizer updates all parameters, the same on every rank.",
    "update shares": "The optimizer updates the part of every layer that the rank owns.",
    "free one": "What forward used of layer {unit} is freed; the buffer of its all_gather stays until the next layer's are here.",
    "free forward": "The others' parts of layer {unit}'s parameters are freed; the rank keeps its own.",
    "free backward": "The buffers of layer {unit}'s gradients are freed; the rank keeps the part it owns.",
    "start": "Before the step: what a rank keeps from one step to the next.",
    "end": "After the step: what a rank keeps from one step to the next.",
}


@cache
def known() -> dict:
    """{"ways": {way: {"units", "slots", "whole", "moments"}}, "label", "machine", "date"}, as recorded. Treat as read-only."""
    run = json.loads(RECORDED.read_text(encoding="utf-8"))
    machine = f"{run['machine']['cpu']}, {run['machine']['cores']} cores"
    return {"ways": run["data"], "label": run["label"], "machine": machine, "date": run["date"]}


def moments(way: str) -> list[dict]:
    """Of one way, in order."""
    return known()["ways"][way]["moments"]


def nranks(way: str) -> int:
    """How many ranks took the step."""
    return len(moments(way)[0]["ranks"])


def peak(way: str, rank: int) -> int:
    """The most bytes that the rank held at any time of the step."""
    return max(moment["ranks"][rank]["most"] for moment in moments(way))


def by_class(way: str, at: int, rank: int) -> list[list[int]]:
    """Of every layer the bytes of CLASSES: what is lent and what is on its way counts with what it is of."""
    held = moments(way)[at]["ranks"][rank]["held"]
    return [[p + g, grad + r, o, a] for p, g, grad, r, o, a in held]


def states(way: str, at: int, rank: int) -> list[list[str]]:
    """Of every layer how CLASSES are there: "whole", "shard" or "absent"; activations are "kept" or "absent"."""
    step, found = known()["ways"][way], []
    for whole, one in zip(step["whole"], moments(way)[at]["ranks"][rank]["held"], strict=True):
        p, gathered, gradient, _, optimizer, activation = one
        sizes = ((max(p, gathered), whole), (gradient, whole), (optimizer, 2 * whole))
        found.append([*(_state(*size) for size in sizes), "kept" if activation else "absent"])
    return found


def _state(nbytes: int, whole: int) -> str:
    return "whole" if nbytes >= whole else "shard" if nbytes else "absent"


def matched(way: str, at: int, other: str) -> int:
    """The moment of another way that stands for this one: of the same deed, else of the layer, else of the phase, or before it."""
    here, there = moments(way)[at], moments(other)
    for keys in (("phase", "what", "unit"), ("phase", "unit"), ("phase",)):
        found = [i for i, one in enumerate(there) if all(one[key] == here[key] for key in keys)]
        if found:
            return found[-1]
    return 0


def deed(way: str, at: int) -> str:
    """What happens at a moment."""
    moment = moments(way)[at]
    what, unit, held = moment["what"], moment["unit"], moment["ranks"][0]["held"]
    if what == "free":
        what = "free one" if held[unit][1] else f"free {moment['phase']}"
    if what == "update" and unit < 0:
        what = "update all" if held[0][0] == known()["ways"][way]["whole"][0] else "update shares"
    nbytes = nbytes_text(moment["call"]["nbytes"]) if moment["call"] else ""
    kept = nbytes_text(held[unit][5])
    return SAID[what].format(unit=unit, nbytes=nbytes, kept=kept)


def lead(way: str, at: int) -> str:
    """ "ZeRO-3, moment 3 of 34, forward." """
    phase = moments(way)[at]["phase"]
    told = f", {phase}" if phase not in ("start", "end") else ""
    return f"{NAMES[way]}, moment {at + 1} of {len(moments(way))}{told}."


def holding(way: str, at: int, rank: int) -> str:
    """What a rank has alive, and how much it was meanwhile."""
    here = moments(way)[at]["ranks"][rank]
    said = f"Rank {rank} holds {nbytes_text(here['total'])}"
    if here["most"] == peak(way, rank):
        return f"{said}; on the way here it was {nbytes_text(here['most'])}, the most of the step."
    return f"{said}."
