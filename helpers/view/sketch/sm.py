"""The sketch `sm`: one SM with its parts, each as often as it is there, all numbers facts. Chapter: execution-model."""

from __future__ import annotations

from helpers.facts import ACCELERATORS, Accelerator
from helpers.units import nbytes_text
from helpers.view.sketch.svg import WIDTH, Moment, Sketch, element, group, label, line, rect

HEAD, GAP = 24, 8  # pixels: of the name, and between parts
WIDE = (WIDTH - 3 * GAP) / 2  # of a quarter
STRIP = 20  # pixels: of a scheduler and a register file
# Pixels: of a lane, from one to the next; and FP32 lanes in a row, twice as many as of FP64
LANE, PITCH, ACROSS = 7, 9, 4
NEEDED = ("schedulers", "fp64_lanes", "tensor_cores", "shared_combined")


def sm(what: str) -> Sketch:
    """what: an accelerator of helpers.facts. ValueError for one that is none, or whose SM's parts no fact tells."""
    if what not in ACCELERATORS or any(getattr(ACCELERATORS[what], part) is None for part in NEEDED):
        whole = [name for name, gpu in ACCELERATORS.items() if all(getattr(gpu, part) for part in NEEDED)]
        raise ValueError(f"sm takes one of {', '.join(whole)}, whose parts are facts, got {what!r}")
    gpu = ACCELERATORS[what]
    many = int(gpu.schedulers.number)
    tall = 2 * STRIP + 1.5 * GAP + _rows(gpu) * PITCH + 18
    places = [(GAP + n % 2 * (WIDE + GAP), HEAD + n // 2 * (tall + GAP)) for n in range(many)]
    foot = places[-1][1] + tall + GAP
    quarters = (_quarter(gpu, x, y, tall) for x, y in places)
    frame = rect("bim-frame", 0.5, 0.5, WIDTH - 1, foot + 2 * STRIP + GAP, 6)
    name = label("bim-size bim-strong", GAP, 16, f"{gpu.name}: one {gpu.unit}", 13)
    body = (frame, name, *quarters, _shared(gpu, foot))
    return Sketch(
        f"One SM, {gpu.name}", sentence(gpu), foot + 2 * STRIP + GAP + 2, "".join(body), (Moment(0.0, ""),), 0
    )


def sentence(gpu: Accelerator) -> str:
    """What a screen reader says."""
    many = int(gpu.schedulers.number)
    lanes, doubles, cores = (int(part.number) for part in (gpu.lanes, gpu.fp64_lanes, gpu.tensor_cores))
    return (
        f"One SM, {gpu.name}, has {many} quarters. In each a scheduler issues instructions in order and predicts no branch; it has "
        f"{_each(gpu.registers.number / many)} of registers, {lanes // many} FP32 lanes, {doubles // many} FP64 lanes and "
        f"{cores // many} Tensor Core{'s' * (cores > many)}. In all {lanes}, {doubles} and {cores}. "
        f"They share {_each(gpu.shared_combined.number)} of L1 cache and shared memory in {int(gpu.banks.number)} banks."
    )


def _each(nbytes: float) -> str:
    return nbytes_text(round(nbytes))


def _rows(gpu: Accelerator) -> int:
    """Of lanes in a quarter."""
    return -(-int(gpu.lanes.number / gpu.schedulers.number) // ACROSS)


def _quarter(gpu: Accelerator, x: float, y: float, tall: float) -> str:
    many = gpu.schedulers.number
    top, under = y + 2 * STRIP + 1.5 * GAP, y + tall - 6
    lanes, doubles, cores = (int(part.number / many) for part in (gpu.lanes, gpu.fp64_lanes, gpu.tensor_cores))
    singles, others, tensors = x + GAP, x + 68, x + 102
    return group(
        "",
        rect("bim-quarter", x, y, WIDE, tall, 4),
        _strip("bim-part", x + GAP / 2, y + GAP / 2, WIDE - GAP, "scheduler"),
        _strip(
            "bim-holds", x + GAP / 2, y + STRIP + GAP, WIDE - GAP, f"registers, {_each(gpu.registers.number / many)}"
        ),
        _lanes("bim-lane", lanes, singles, top, ACROSS),
        label("bim-label", singles, under, f"{lanes} FP32", 11),
        _lanes("bim-lane bim-hollow", doubles, others, top, ACROSS // 2),
        label("bim-label", others, under, f"{doubles} FP64", 11),
        _cores(cores, tensors, top, x + WIDE - GAP / 2 - tensors, _rows(gpu) * PITCH - 2),
    )


def _strip(kind: str, x: float, y: float, wide: float, said: str) -> str:
    return rect(kind, x, y, wide, STRIP, 3) + label("bim-size bim-middle", x + wide / 2, y + STRIP / 2 + 4, said)


def _lanes(kind: str, count: int, x: float, y: float, across: int) -> str:
    """As many squares as there are lanes, as one path."""
    places = [(x + n % across * PITCH, y + n // across * PITCH) for n in range(count)]
    return element("path", {"class": kind, "d": "".join(f"M{a:g} {b:g}h{LANE}v{LANE}h-{LANE}z" for a, b in places)})


def _cores(count: int, x: float, y: float, wide: float, tall: float) -> str:
    """Tensor Cores side by side, with their name where one alone has room for it."""
    each = (wide - 2 * (count - 1)) / count
    boxes = (rect("bim-core", x + n * (each + 2), y, each, tall, 3) for n in range(count))
    middle, half = x + wide / 2, y + tall / 2
    names = label("bim-on bim-middle", middle, half - 2, "Tensor") + label(
        "bim-on bim-middle", middle, half + 12, "Cores" if count > 1 else "Core"
    )
    return group("", *boxes, names)


def _shared(gpu: Accelerator, y: float) -> str:
    """What all quarters share, a line between two banks."""
    wide, banks = WIDTH - 2 * GAP, int(gpu.banks.number)
    strip = _strip("bim-holds", GAP, y, wide, f"L1 cache and shared memory, {_each(gpu.shared_combined.number)}")
    ticks = (
        line("bim-tick", (GAP + n * wide / banks, y + STRIP - 4), (GAP + n * wide / banks, y + STRIP))
        for n in range(1, banks)
    )
    said = f"of it at most {_each(gpu.shared_max.number)} shared memory, in {banks} banks"
    return strip + group("", *ticks) + label("bim-label bim-middle", WIDTH / 2, y + 2 * STRIP - 4, said)
