"""An accelerator: what one SM holds, what the chip adds, and how fast both are, every number a Fact with its source.

AMD calls the SM a compute unit, the warp a wavefront and shared memory the LDS; the fields keep NVIDIA's names.
Chapters: execution-model, memory-hierarchy, roofline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from helpers.facts.fact import Entry, Fact, FactError
from helpers.units import Bandwidth

DTYPES = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8")
SHARED = ("shared_combined", "shared_max", "shared_block", "banks")
UNITS = ("lanes", "fp64_lanes", "tensor_cores", "schedulers", "tensor_rate")
PER_SM = ("warp", "warps", "blocks", "registers", *SHARED, *UNITS, "tensor_memory")
NEEDED = ("warp", "warps", "registers", "shared_max", "banks", "lanes", "sms", "clock", "l2", "hbm", "hbm_capacity")
BANK_BYTES = 4  # a bank of shared memory serves one 4-byte word per clock (CUDA Programming Guide, section 2.2)
OPERAND_BYTES = 3 * 4  # an FP32 fused multiply-add reads three operands


@dataclass(frozen=True)
class Accelerator:
    """One product. Fields are Facts (`.quantity` in bytes, Hz or a count; `str()` with unit), or None where nobody publishes one.

    Per SM: warp (threads), warps and blocks at most, registers and shared_max (bytes), shared_combined (with the L1 cache),
    banks, lanes (FP32), fp64_lanes, tensor_cores, schedulers, tensor_rate (FLOP a clock, dense, 16 bits), tensor_memory (bytes, from
    Blackwell on). shared_block: the most that one block may have.
    Per chip: sms, clock (boost), l2, l2_rate (bytes a clock, reads), l3, hbm (both ways), hbm_capacity, hbm_latency (cycles,
    measured). flops: dense FLOP/s by type, those published.
    """

    name: str
    title: str
    capability: str
    sms: Fact
    clock: Fact
    l2: Fact
    hbm: Fact
    hbm_capacity: Fact
    warp: Fact
    warps: Fact
    registers: Fact
    shared_max: Fact
    banks: Fact
    lanes: Fact
    flops: Mapping[str, Fact]
    blocks: Fact | None = None
    shared_combined: Fact | None = None
    shared_block: Fact | None = None
    tensor_memory: Fact | None = None
    fp64_lanes: Fact | None = None
    tensor_cores: Fact | None = None
    schedulers: Fact | None = None
    tensor_rate: Fact | None = None
    l2_rate: Fact | None = None
    l3: Fact | None = None
    l3_bandwidth: Fact | None = None
    hbm_latency: Fact | None = None

    @property
    def unit(self) -> str:
        """What the vendor calls the piece that is repeated: "SM" or "CU"."""
        return self.sms.unit.removesuffix("s")

    @property
    def shared_bandwidth(self) -> Bandwidth:
        """Shared memory of all SMs, derived: banks x 4 B x clock x SMs. A bank serves a read or a write, so both ways share it."""
        per_clock = self.banks.number * BANK_BYTES * self.sms.number
        return Bandwidth(per_clock * self.clock.number, "both ways")

    @property
    def register_bandwidth(self) -> Bandwidth:
        """Operands that FP32 fused multiply-adds read at full rate, derived: lanes x 12 B x clock x SMs. Results are not counted."""
        per_clock = self.lanes.number * OPERAND_BYTES * self.sms.number
        return Bandwidth(per_clock * self.clock.number, "one way")

    @property
    def l2_bandwidth(self) -> Bandwidth | None:
        """L2's reads, derived from a published number of bytes a clock; None where none is published."""
        return Bandwidth(self.l2_rate.number * self.clock.number, "one way") if self.l2_rate else None

    @property
    def in_flight(self) -> float | None:
        """Bytes that must be under way to keep HBM busy: latency x bandwidth (Little's law); None without a measured latency."""
        if not self.hbm_latency:
            return None
        return self.hbm_latency.number / self.clock.number * self.hbm.bandwidth.value

    def peak(self, dtype: str) -> Fact:
        """Dense FLOP/s of a type; FactError naming the types that are published."""
        if dtype not in self.flops:
            raise FactError(f"{self.name} publishes no {dtype!r}; it has {', '.join(self.flops)}")
        return self.flops[dtype]

    def ridge(self, dtype: str) -> float:
        """FLOP per byte of HBM at which compute and memory take equally long: peak FLOP/s / bandwidth."""
        return self.peak(dtype).number / self.hbm.bandwidth.value

    def __str__(self) -> str:
        return f"{self.title}: {self.sms}, {self.hbm_capacity}, {self.hbm}"


def build_accelerators(chips: Mapping[str, Entry], facts: Mapping[str, Fact]) -> dict[str, Accelerator]:
    """The accelerators of a parsed chips.toml; FactError for one without a title or without a fact that all must have."""
    return {name: _accelerator(name, entry, facts) for name, entry in chips.items()}


def _accelerator(name: str, entry: Entry, facts: Mapping[str, Fact]) -> Accelerator:
    if not entry.get("title") or not entry.get("capability"):
        raise FactError(f"{name}: an accelerator has a title and a capability")
    own = {"sms", "clock", "l2", "hbm", "l3"} | {"l2.rate", "l3.bandwidth", "hbm.capacity", "hbm.latency"}
    keys = {part.replace(".", "_"): f"{name}.{part}" for part in own}
    keys |= {part: f"cc-{entry['capability']}.{part}" for part in PER_SM}
    found = {part: facts[key] for part, key in keys.items() if key in facts}
    flops = {dtype: facts[f"{name}.flops.{dtype}"] for dtype in DTYPES if f"{name}.flops.{dtype}" in facts}
    missing = [part for part in NEEDED if part not in found] + ([] if flops else ["flops"])
    if missing:
        raise FactError(f"{name}: no fact for {', '.join(keys.get(part, part) for part in missing)}")
    return Accelerator(name, entry["title"], entry["capability"], flops=flops, **found)
