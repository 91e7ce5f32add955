"""The sketch `chips`: a processor beside a GPU, core by core and SM by SM, and to scale what one holds. Chapter: execution-model.

Squares of bytes are to one scale, dots are threads, a bar is the memory's bandwidth; all numbers are facts.
"""

from __future__ import annotations

from dataclasses import dataclass

from helpers.facts import ACCELERATORS, FACTS, Accelerator, Fact, lookup
from helpers.units import nbytes_text
from helpers.view.sketch.svg import LETTERS, WIDTH, Moment, Sketch, element, group, label, line, rect

LEFT, RIGHT = 2, 174  # pixels: where the processor begins, and the GPU
WIDE = WIDTH - RIGHT - 2  # of both
IN_A_ROW, PITCH = 18, 8.6  # cores or SMs of a row, and pixels from one to the next
LARGEST = 84  # pixels: the side of the largest square of bytes
DOTS, DOT = 64, 2.4  # threads in a row, and pixels from one to the next
UNITS, THREADS = 38, 110  # pixels: where the cores and the threads begin; the bytes follow the threads
FOOT = 284  # pixels: where the squares of bytes end, at most


@dataclass(frozen=True)
class Chip:
    """One side. unit: what it has `count` of; holds: (name, bytes) of one unit, from the arithmetic outwards; threads: of one unit."""

    name: str
    unit: str
    count: int
    threads: int
    holds: tuple[tuple[str, float], ...]
    memory: Fact

    @property
    def total(self) -> float:
        return sum(nbytes for _, nbytes in self.holds)


def chips(what: str) -> Sketch:
    """what: a processor and an accelerator of helpers.facts, "EPYC-7742 A100". ValueError for what is none."""
    names = what.split()
    if len(names) != 2 or f"{names[0]}.cores" not in FACTS or names[1] not in ACCELERATORS:
        raise ValueError(f'chips takes a processor and an accelerator, "EPYC-7742 A100", got {what!r}')
    pair = processor(names[0]), gpu(ACCELERATORS[names[1]])
    scale = LARGEST / max(nbytes for chip in pair for _, nbytes in chip.holds) ** 0.5
    widest = max(chip.memory.bandwidth.value for chip in pair)
    body = [
        part
        for chip, x in zip(pair, (LEFT, RIGHT), strict=True)
        for part in (
            _head(chip, x),
            _units(chip, x),
            _threads(chip, x),
            _bytes(chip, x, scale),
            _memory(chip, x, widest),
        )
    ]
    fence = line("bim-fence", ((LEFT + RIGHT + WIDE) / 2 - 1, 4), ((LEFT + RIGHT + WIDE) / 2 - 1, FOOT + 34))
    title = f"{pair[0].name} beside {pair[1].name}"
    return Sketch(title, " ".join(map(sentence, pair)), FOOT + 38, "".join((fence, *body)), (Moment(0.0, ""),), 0)


def processor(name: str) -> Chip:
    """Its L3 cache is shared out evenly: a core's share."""
    cores, each = lookup(f"{name}.cores").number, lambda part: lookup(f"{name}.{part}").number
    holds = (("L1 (data)", each("l1")), ("L2", each("l2")), ("share of L3", each("l3") / cores))
    return Chip(name.replace("-", " "), "core", int(cores), int(each("threads")), holds, lookup(f"{name}.memory"))


def gpu(chip: Accelerator) -> Chip:
    """Its L2 cache is shared out evenly: an SM's share."""
    near = chip.shared_combined or chip.shared_max
    share = chip.l2.number / chip.sms.number
    holds = (("registers", chip.registers.number), ("L1/shared", near.number), ("share of L2", share))
    threads = int(chip.warps.number * chip.warp.number)
    return Chip(chip.name, chip.unit, int(chip.sms.number), threads, holds, chip.hbm)


def sentence(chip: Chip) -> str:
    """What a screen reader says."""
    holds = ", ".join(f"{name} {_size(nbytes)}" for name, nbytes in chip.holds)
    return (
        f"{chip.name}: {chip.count} {chip.unit}s, each with {chip.threads:,} threads; one holds {holds}, "
        f"{_size(chip.total / chip.threads)} for a thread. Its memory delivers {_rate(chip)} {chip.memory.direction}."
    )


def _size(nbytes: float) -> str:
    """Short: three digits."""
    return nbytes_text(round(nbytes))


def _head(chip: Chip, x: float) -> str:
    many = label("bim-size", x, 30, f"{chip.count} {chip.unit}s")
    return label("bim-size bim-strong", x, 12, chip.name, 13) + many


def _units(chip: Chip, x: float) -> str:
    """Every core or SM a square, the first of them the one that is shown below."""
    places = [(x + n % IN_A_ROW * PITCH, UNITS + n // IN_A_ROW * PITCH) for n in range(chip.count)]
    side = PITCH - 2
    rest = element(
        "path",
        {"class": "bim-frame", "d": "".join(f"M{a:g} {b:g}h{side:g}v{side:g}h-{side:g}z" for a, b in places[1:])},
    )
    return rest + rect("bim-holds bim-strong", *places[0], side, side)


def _threads(chip: Chip, x: float) -> str:
    """A dot a thread."""
    rows: list[str] = []
    for first in range(0, chip.threads, DOTS):
        here = min(DOTS, chip.threads - first)
        rows.append(f"M{x + DOT / 2:g} {THREADS + 12 + first // DOTS * DOT:g}h{(here - 1) * DOT + 0.01:g}")
    dots = element("path", {"class": "bim-dots", "d": "".join(rows), "stroke_dasharray": f"0 {DOT:g}"})
    return label("bim-size", x, THREADS, f"one {chip.unit}: {chip.threads:,} threads") + dots


def _bytes(chip: Chip, x: float, scale: float) -> str:
    """A square of its bytes for each memory of one unit, the nearest at the top; the last one has its name inside if it has room."""
    parts, y = [], THREADS + 20 - (-chip.threads // DOTS) * DOT
    for name, nbytes in chip.holds:
        side = nbytes**0.5 * scale
        parts.append(rect("bim-holds", x, y, side, side, 1.5))
        parts.append(_named(name, nbytes, x, y, side))
        y += side + 4
    return group("", *parts)


def _named(name: str, nbytes: float, x: float, y: float, side: float) -> str:
    if side > 4 * LETTERS:  # inside, in two lines
        middle = x + side / 2
        return label("bim-size bim-middle", middle, y + side / 2 - 2, name) + label(
            "bim-size bim-middle", middle, y + side / 2 + 14, _size(nbytes)
        )
    return label("bim-label", x + side + 6, y + side / 2 + 4, f"{name}, {_size(nbytes)}")


def _memory(chip: Chip, x: float, widest: float) -> str:
    said = label("bim-size", x, FOOT + 14, f"memory: {_rate(chip)}")
    return said + rect("bim-holds", x, FOOT + 22, WIDE * chip.memory.bandwidth.value / widest, 8, 1.5)


def _rate(chip: Chip) -> str:
    """In one unit for both."""
    return f"{chip.memory.bandwidth.value / 1e9:,.4g} GB/s"
