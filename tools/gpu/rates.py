"""How fast this machine moves and multiplies: the ladder, the roof and what stands under it, the links. Each runs alone."""

from __future__ import annotations

import torch

from helpers.measure import ladder, machine_roof, pairs, place, transfers
from helpers.measure.bandwidth.transfers import SIZES, counted
from helpers.measure.bandwidth.under_roof import DTYPE
from helpers.units import MIB, nbytes_text

from .scale import memory, roomy

CACHED = 3  # times the roof: more than a cache explains whose bytes the count charges to memory
SMALL = 128  # side of the matrices where there is little room


def steps(device: str) -> dict:
    """Bandwidth at each working set, both ways together; on a GPU L2 and memory."""
    found = ladder(device, seconds=3.0 if roomy(device) else 0.5)
    print(found)
    assert found.steps or not roomy(device), "the curve has no flat part"
    flat = [f"{step.level or '?'} {step.bandwidth / 1e9:.0f} GB/s both ways" for step in found.steps]
    return {"steps": ", ".join(flat), "record": {"ladder": found.data()}}


def roof(device: str) -> dict:
    """The roof of this machine, and real operations under it."""
    dtype = DTYPE[device]
    top = machine_roof(device, dtype, **({} if roomy(device) else {"seconds": 0.4}))
    rows = place(device=device, dtype=dtype, roof=top, **({} if roomy(device) else {"n": SMALL, "seconds": 0.01}))
    print(top, rows, sep="\n")
    assert top.flops > 0 and all(row.attained > 0 for row in rows)
    if roomy(device):
        fast = [row.op for row in rows if row.share > CACHED]
        assert not fast, f"above the roof: {', '.join(fast)}"
    data = {
        "name": top.name,
        "dtype": str(dtype).removeprefix("torch."),
        "flops": top.flops,
        "bandwidth": top.rate,
        "ridge": top.ridge,
        "float32 matmul precision": torch.get_float32_matmul_precision(),  # TORCH_ALLOW_TF32_CUBLAS_OVERRIDE makes it "high"
        "places": [row._asdict() for row in rows],
    }
    said = f"{top.flops / 1e12:.3g} TFLOP/s, {top.rate / 1e9:.0f} GB/s both ways, ridge {top.ridge:.3g} FLOP/B"
    nearest = max(
        rows, key=lambda row: row.share
    )  # above 100% by what a cache, or a higher clock than the roof's, gave
    told = {"roof": said, "operations": len(rows), "highest": f"{nearest.op}, {nearest.share:.0%} of the roof"}
    return told | {"record": {"roofline": data}}


def links(device: str) -> dict:
    """Host to GPU and back, pinned and pageable."""
    rows = transfers(device, [nbytes for nbytes in SIZES if nbytes <= memory(device) // 16])
    print(*rows, sep="\n")
    largest = max(row.nbytes for row in rows)
    best = {(row.way, row.host): row.bandwidth for row in rows if row.nbytes == largest}
    assert all(bandwidth > 0 for bandwidth in best.values())
    said = {f"{way}, {host}": f"{bandwidth / 1e9:.3g} GB/s {counted(way)}" for (way, host), bandwidth in best.items()}
    return {**said, "size": nbytes_text(largest), "record": {"transfers": [row._asdict() for row in rows]}}


def between(device: str) -> dict:
    """From every GPU to every other, one way."""
    found = pairs(256 * MIB if roomy(device) else memory(device) // 256)
    print(found)
    rates = [rate for row in found.bandwidth for rate in row if rate is not None]
    assert len(rates) == len(found.names) * (len(found.names) - 1) and min(rates) > 0
    return {
        "slowest": f"{min(rates) / 1e9:.3g} GB/s one way",
        "pairs": len(rates),
        "record": {"pairs": found._asdict()},
    }
