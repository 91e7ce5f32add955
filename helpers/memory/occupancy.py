"""How many warps an SM can hold at once, and what runs out first: registers, shared memory, or slots.

The rules are those of cuda_occupancy.h in the CUDA toolkit (13.0), for kernels that leave the cache's split to the driver;
a test compares 1,500 cases with what that header computes. Chapter: execution-model.
"""

from __future__ import annotations

from dataclasses import dataclass

from helpers.facts import Accelerator, Fact

MAX_THREADS = 1024  # of a block
MAX_REGISTERS = 255  # of a thread
REGISTER_BYTES = 4
REGISTER_GRAIN = 256  # registers, handed to a whole warp at a time
PARTITIONS = 4  # of an SM: each has its scheduler and a quarter of the registers
SHARED_GRAIN = {7: 256, 8: 128, 9: 128, 10: 128, 12: 128}  # bytes, by major compute capability
RESERVED = 1024  # bytes that CUDA keeps of every block's shared memory from compute capability 8 on


class OccupancyError(ValueError):
    """A launch that no SM of this kind can take, or an accelerator whose rules are not CUDA's."""


@dataclass(frozen=True)
class Occupancy:
    """What fits on one SM. blocks: resident at once; limits: blocks that each resource alone would allow, None for "any number"."""

    gpu: Accelerator
    threads: int
    registers: int
    shared: int
    blocks: int
    limits: dict[str, int | None]

    @property
    def warps_per_block(self) -> int:
        return -(-self.threads // int(self.gpu.warp.number))

    @property
    def warps(self) -> int:
        """Resident warps."""
        return self.blocks * self.warps_per_block

    @property
    def fraction(self) -> float:
        """Occupancy: resident warps over the warps that the SM could hold."""
        return self.warps / self.gpu.warps.number

    @property
    def limiters(self) -> tuple[str, ...]:
        """What runs out first; several when they run out together."""
        return tuple(name for name, limit in self.limits.items() if limit == self.blocks)

    def __str__(self) -> str:
        if not self.blocks:
            return f"{self.gpu.name}: a block of {self.threads} threads with {self.registers} registers each does not launch"
        slots = f"{self.warps} of {self.gpu.warps.number:.0f} warps ({self.fraction:.0%})"
        held = f"{self.blocks} block{'s' * (self.blocks > 1)}"
        return f"{self.gpu.name}: {held}, {slots}; first to run out: {' and '.join(self.limiters)}"


def occupancy(gpu: Accelerator, threads: int, registers: int = 32, shared: int = 0) -> Occupancy:
    """What fits on one SM of `gpu`: threads per block, registers per thread, bytes of shared memory per block.

    OccupancyError on numbers that no launch may have, and on accelerators that are not NVIDIA's. A block whose registers exceed
    the SM's is no error: it has 0 blocks, and CUDA refuses it at launch.
    """
    slots = _checked(gpu, threads, registers, shared)
    warps = -(-threads // int(gpu.warp.number))
    limits = {
        "warp slots": int(gpu.warps.number) // warps,
        "block slots": int(slots.number),
        "registers": _by_registers(gpu, warps, registers),
        "shared memory": _by_shared(gpu, shared),
    }
    blocks = min(limit for limit in limits.values() if limit is not None)
    return Occupancy(gpu, threads, registers, shared, blocks, limits)


def rounds(fit: Occupancy, blocks: int) -> tuple[int, float]:
    """(rounds, share of the places that do something) of a launch of `blocks` blocks that all take equally long.

    A chip has as many places as its SMs hold blocks. The last round, the tail, lasts as long as a full one, however few its blocks, so
    the time grows in steps: wave quantisation. OccupancyError for no block, and for one that does not launch.
    """
    if isinstance(blocks, bool) or not isinstance(blocks, int) or blocks < 1 or not fit.blocks:
        raise OccupancyError(f"a launch has 1 block or more, of a kind that fits on an SM; got {blocks!r}: {fit}")
    places = fit.blocks * int(fit.gpu.sms.number)
    found = -(-blocks // places)
    return found, blocks / (found * places)


def curve(gpu: Accelerator, registers: int = 32, shared: int = 0) -> list[tuple[int, int]]:
    """(threads per block, resident warps) for every whole number of warps in a block."""
    step = int(gpu.warp.number)
    return [(n, occupancy(gpu, n, registers, shared).warps) for n in range(step, MAX_THREADS + 1, step)]


def _by_registers(gpu: Accelerator, warps: int, registers: int) -> int | None:
    if not registers:
        return None
    held = int(gpu.registers.number) // REGISTER_BYTES
    per_warp = _up(registers * int(gpu.warp.number), REGISTER_GRAIN)
    if per_warp * _up(warps, PARTITIONS) > held:  # the launch's check reserves in all partitions alike
        return 0
    return held // PARTITIONS // per_warp * PARTITIONS // warps


def _by_shared(gpu: Accelerator, shared: int) -> int | None:
    major = int(gpu.capability.split(".")[0])
    taken = _up(shared + (RESERVED if major >= 8 else 0), SHARED_GRAIN[major])
    return int(gpu.shared_max.number) // taken if taken else None


def _up(value: int, grain: int) -> int:
    return -(-value // grain) * grain


def _checked(gpu: Accelerator, threads: int, registers: int, shared: int) -> Fact:
    """The SM's block slots, where this launch may be asked for."""
    if not (gpu.blocks and gpu.shared_block) or not gpu.capability[0].isdigit():
        raise OccupancyError(f"{gpu.name} hands out registers by other rules than CUDA's; take an NVIDIA GPU")
    most = int(gpu.shared_block.number)
    for name, value, low, high in (
        ("threads per block", threads, 1, MAX_THREADS),
        ("registers per thread", registers, 0, MAX_REGISTERS),
        ("shared memory per block, bytes,", shared, 0, most),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise OccupancyError(f"{name} must be a whole number from {low} to {high} on {gpu.name}, got {value!r}")
    return gpu.blocks
