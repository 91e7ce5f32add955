"""The memory hierarchy of an accelerator as rows: what each level holds, how fast it is, and whether somebody publishes that.

Chapters: memory-hierarchy, execution-model; the `hierarchy` directive of the website.
"""

from __future__ import annotations

from dataclasses import dataclass

from helpers.facts.accelerator import Accelerator
from helpers.facts.fact import Fact
from helpers.units import Bandwidth

L3, MEMORY = "L3 (Infinity Cache)", "Memory (HBM or GDDR)"
NAMES = ("Registers", "Tensor Memory", "Shared memory", "L2 cache", L3, MEMORY)  # from the arithmetic outwards
FORMULAS = {
    "Registers": "FP32 lanes × 12 B × clock × SMs: three operands read by each fused multiply-add",
    "Shared memory": "banks × 4 B × clock × SMs: a bank serves one word a clock, read or written",
    "L2 cache": "bytes per clock × clock, reads; the bytes per clock are published",
}


@dataclass(frozen=True)
class Level:
    """One level. per_unit: bytes in one SM (CU), None where it belongs to the chip; in_all: bytes of the whole chip.

    bandwidth: of the whole chip, None where nobody publishes what it would follow from. published: a vendor states it;
    else it is derived by `formula`. facts: what the row rests on.
    """

    name: str
    per_unit: float | None
    in_all: float
    bandwidth: Bandwidth | None
    published: bool
    formula: str
    facts: tuple[Fact, ...]


def levels(gpu: Accelerator) -> list[Level]:
    """From the registers out to the memory; the shared level says what it may hold, its L1 part comes on top.

    Tensor Memory is a level of its own where the chip has one (Blackwell); nobody publishes its bandwidth.
    """
    sms = gpu.sms.number
    rows = [_derived("Registers", gpu.registers, sms, gpu.register_bandwidth, (gpu.lanes, gpu.clock, gpu.sms))]
    if gpu.tensor_memory:
        rows.append(_derived("Tensor Memory", gpu.tensor_memory, sms, None, (gpu.sms,)))
    rows += [
        _derived("Shared memory", gpu.shared_max, sms, gpu.shared_bandwidth, (gpu.banks, gpu.clock, gpu.sms)),
        _derived("L2 cache", gpu.l2, None, gpu.l2_bandwidth, (gpu.l2_rate, gpu.clock)),
    ]
    if gpu.l3:
        rows.append(_published(L3, gpu.l3, gpu.l3_bandwidth))
    return [*rows, _published(MEMORY, gpu.hbm_capacity, gpu.hbm)]


def _derived(
    name: str, size: Fact, sms: float | None, bandwidth: Bandwidth | None, facts: tuple[Fact | None, ...]
) -> Level:
    per_unit = size.number if sms else None
    known = tuple(fact for fact in (size, *facts) if fact)
    return Level(name, per_unit, size.number * (sms or 1), bandwidth, False, FORMULAS.get(name, ""), known)


def _published(name: str, size: Fact, bandwidth: Fact | None) -> Level:
    facts = (size, bandwidth) if bandwidth else (size,)
    return Level(name, None, size.number, bandwidth.bandwidth if bandwidth else None, True, "", facts)
