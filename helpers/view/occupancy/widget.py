"""The widget `occupancy`: one SM with its warp slots, and what a block's threads, registers and shared memory leave free.

The rules stand in `helpers.memory.occupancy`; the page computes the same in JavaScript, tested equal. Chapter: execution-model.
"""

from __future__ import annotations

from dataclasses import dataclass

import traitlets

from helpers.facts import ACCELERATORS
from helpers.memory.occupancy import RESERVED, SHARED_GRAIN, Occupancy, occupancy
from helpers.units import nbytes_text
from helpers.view.shared.mount import Spec, fallback, mount
from helpers.view.shared.widget import SpecWidget
from helpers.view.shared.words import listed, percent

NVIDIA = {name: gpu for name, gpu in ACCELERATORS.items() if gpu.blocks and gpu.capability[0].isdigit()}


@dataclass(frozen=True)
class OccupancySpec(Spec):
    """The whole state of the widget: an accelerator by its name, threads per block, registers per thread, shared bytes per block."""

    gpu: str
    threads: int
    registers: int
    shared: int


def gpus() -> list[dict]:
    """What the widget must know of every accelerator, as plain data: counts and bytes of one SM."""
    return [
        {
            "name": name,
            "title": gpu.title,
            "warps": int(gpu.warps.quantity),
            "blocks": int(gpu.blocks.quantity),
            "registers": int(gpu.registers.quantity) // 4,
            "shared": int(gpu.shared_max.quantity),
            "most": int(gpu.shared_block.quantity),
            "grain": SHARED_GRAIN[int(float(gpu.capability))],
            "reserved": RESERVED if float(gpu.capability) >= 8 else 0,
        }
        for name, gpu in NVIDIA.items()
    ]


def occupancy_spec(gpu: str = "A100", threads: int = 256, registers: int = 32, shared: int = 0) -> OccupancySpec:
    """The state that the reader begins with; shared in bytes per block. ValueError on what no launch may have."""
    if gpu not in NVIDIA:
        raise ValueError(f"accelerator must be one of {', '.join(NVIDIA)}, got {gpu!r}")
    spec = OccupancySpec(gpu, threads, registers, shared)
    found(spec)
    return spec


def found(spec: OccupancySpec) -> Occupancy:
    """What fits, as `helpers.memory.occupancy` counts it."""
    return occupancy(NVIDIA[spec.gpu], spec.threads, spec.registers, spec.shared)


def occupancy_sentence(spec: OccupancySpec) -> str:
    """On A100, 256 threads a block, 32 registers each, 0 B of shared memory: 8 blocks fit, 64 of 64 warps, 100 %. First to ..."""
    got = found(spec)
    asked = (
        f"{spec.threads} threads a block, {spec.registers} registers each, {nbytes_text(spec.shared)} of shared memory"
    )
    if not got.blocks:
        return f"On {spec.gpu}, {asked}: no block launches, one needs more registers than the SM has"
    most = int(got.gpu.warps.quantity)
    fits = f"{got.blocks} block{'s' * (got.blocks != 1)} fit{'s' * (got.blocks == 1)}"
    full = f"{got.warps} of {most} warps, {percent(got.warps, most)}"
    return f"On {spec.gpu}, {asked}: {fits}, {full}. First to run out: {listed(got.limiters)}"


def occupancy_html(spec: OccupancySpec) -> str:
    """The mount element: the spec, and for readers without JavaScript the sentence and the four limits as a table."""
    got = found(spec)
    rows = [(name, "any number" if limit is None else limit) for name, limit in got.limits.items()]
    text = fallback(f"{occupancy_sentence(spec)}.", ("Resource", "Blocks it would allow"), rows, "One SM")
    return mount("occupancy", spec.as_json(), text)


class OccupancyWidget(SpecWidget):
    """One SM, to be filled. `occupancy` is what fits now."""

    name = "occupancy"
    about = "an SM"
    spec_of, said, mounted = map(staticmethod, (occupancy_spec, occupancy_sentence, occupancy_html))
    gpus = traitlets.List().tag(sync=True)

    @property
    def occupancy(self) -> Occupancy:
        return found(OccupancySpec.read(self.spec))


def explore_occupancy(gpu: str = "A100", threads: int = 256, registers: int = 32, shared: int = 0) -> OccupancyWidget:
    """One SM and what a kernel's blocks leave free of it: `explore_occupancy("H100", threads=128, registers=168)`."""
    return OccupancyWidget(occupancy_spec(gpu, threads, registers, shared))
