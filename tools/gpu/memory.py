"""The tracker, the prediction, the allocator's model and the optimizers' peaks, against CUDA's own counters. Each runs alone."""

from __future__ import annotations

import gc
import os

import torch

from helpers.measure import StepProfile, article_model, profile_step, snapshot_after, track
from helpers.memory import Event, Trace, pack
from helpers.memory.allocator import replay
from helpers.memory.snapshot import Snapshot, compare
from helpers.step import precision as types

from .counters import Beside, Held, highest_on_cuda, on_cuda
from .scale import roomy

ARTICLE = {"batch": 16, "seq": 256}  # 4,096 tokens: the article's 8 MiB of input
SMALL = {"layers": 2, "width": 64, "heads": 4, "ffn": 256, "batch": 2, "seq": 16}  # where there is little room
# On a small GPU: in so small a step dropout's mask weighs, and builds of torch keep it in other bytes.
PLAIN = {"dropout": 0.0}
NEAR = 0.02  # what kernels take beside their tensors, as a share of the peak
CLOSE = 0.001  # between operators nothing is under way, and the tracker knows all but seeds
SAME = 0.95  # of the model's blocks that a snapshot must have at the same place
EXPANDABLE = {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}


def size(device: str) -> dict:
    if roomy(device):
        return ARTICLE
    return SMALL | PLAIN if device == "cuda" else SMALL


def settle(device: str) -> None:
    """Nothing is under way, and what can be given back has been."""
    gc.collect()
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


def warm(device: str) -> None:
    """A step that nobody watches: libraries make their workspaces, on the thread of backward too, and keep them."""
    profile_step(**size(device), device=device, steps=2)
    settle(device)


def near(what: str, got: int, want: int, share: float = NEAR) -> float:
    """got / want - 1. AssertionError when it is further from 0 than `share`."""
    assert want > 0, f"{what}: {want} bytes to compare with"
    off = got / want - 1
    assert abs(off) <= share, f"{what}: {got} bytes, not {want} ({off:+.2%}, allowed {100 * share:g}%)"
    return off


def op_by_op(device: str) -> dict:
    """Before every operator of a second step: the bytes that the tracker knows, and those that the allocator was asked for."""
    assert device == "cuda", "only CUDA counts"
    warm(device)
    return beside(device, on_cuda, torch.cuda.reset_peak_memory_stats, highest_on_cuda)


def beside(device: str, counters, reset, highest) -> dict:
    """See op_by_op. counters() -> Held; reset(), highest() -> Held: the most of each since."""
    before = counters()
    reset()
    look = Beside(counters)
    model = article_model(**{k: v for k, v in size(device).items() if k not in ("batch", "seq")}, device=device)
    x = torch.rand(size(device)["batch"], size(device)["seq"], model.layers[0].linear1.in_features, device=device)
    optimizer = types.optimizer("adamw-foreach", model.parameters(), "fp32")
    with track(model, optimizer, x, on_event=look.event) as watch:
        look.start()
        with look:
            for _ in range(2):
                model(x).square().mean().backward()
                optimizer.step()
                optimizer.zero_grad()
        look.look("the end")
    trace = watch.trace
    most = highest()
    peak, real = trace.peak.nbytes, most.requested - before.requested
    found = {"ops": look.ops, "equal": look.equal, "tracked peak": peak, "requested peak": real}
    found["allocated peak"] = most.allocated - before.allocated  # more: a block that is not cut counts whole
    found["changes"] = [list(change) for change in look.changes[:8]]
    assert look.behind <= 1, f"the tracker counts {-look.least} bytes that were not asked for: {found['changes']}"
    assert look.most <= NEAR * real, f"{look.most} bytes beside the tracker: {found['changes']}"
    near("the peak", peak, real)
    return found | {"share": peak / real - 1}


def stages(device: str) -> dict:
    """The article's seven stages: predicted, tracked, and on CUDA what its counters say at each."""
    sizes, allowed = size(device), NEAR if roomy(device) else 2 * NEAR  # of a small step, statistics are a larger part
    how = "adamw-foreach" if device == "cuda" else "adamw"
    if device == "cuda":
        (real, looks), snapshot = snapshot_after(lambda: counted_step(**sizes, optimizer=how))
        counted = counted_stages(real.trace, looks, snapshot)
    else:
        real = profile_step(**sizes, device=device, optimizer=how)
        counted = [{} for _ in real.trace.marks]
    predicted = profile_step(**sizes, device="meta", optimizer=how, like_cuda=device == "cuda")
    tracked = real.trace.rounded(512) if device == "cuda" else real.trace
    rows = []
    for (_, name, nbytes), stage, more in zip(tracked.marks, predicted.stages[1:], counted, strict=True):
        near(f"{name}, predicted", stage.nbytes, nbytes, allowed)
        rows.append({"name": name, "tracked": nbytes, "predicted": stage.nbytes} | more)
    share = near("the peak, predicted", predicted.peak.nbytes, tracked.peak.nbytes, allowed)
    figures = {"stages": len(rows), "peak": tracked.peak.nbytes, "predicted": predicted.peak.nbytes, "share": share}
    record = {"stages": rows, "tracked peak": tracked.peak.nbytes, "predicted peak": predicted.peak.nbytes}
    return figures | {"record": {"memory-stages": record}, "traces": {"article": pack(real.trace)}}


def counted_step(**settings) -> tuple[StepProfile, list[Held]]:
    """A step on CUDA, and what the counters say before it and at each of its marks."""
    warm("cuda")
    looks = [on_cuda()]

    def look(event: Event) -> None:
        if event.kind == "mark":
            looks.append(on_cuda())

    return profile_step(**settings, device="cuda", on_event=look), looks


def counted_stages(tracked: Trace, looks: list[Held], snapshot: Snapshot) -> list[dict]:
    """Like beside like at each mark: bytes asked for beside the tracker's, those in blocks beside the model's of the allocator.

    The two are not alike: a block that is not cut counts whole. AssertionError where a pair differs.
    """
    made = replay(snapshot.trace(emptied=True), addresses=snapshot.addresses())
    held = [n for n, event in zip(made.allocated, made.trace.events, strict=True) if event.kind in ("alloc", "free")]
    before, rows = looks[0], []
    for (_, name, nbytes), look in zip(tracked.marks, looks[1:], strict=True):
        requested, allocated = look.requested - before.requested, look.allocated - before.allocated
        near(f"{name}, tracked", nbytes, requested, CLOSE)
        near(f"{name}, the allocator's model", int(held[look.calls - 1] - held[before.calls - 1]), allocated, 0)
        rows.append({"requested": requested, "allocated": allocated})
    return rows


def segments(device: str) -> dict:
    """Two steps with the allocator's history on from its first byte, and the model of it, block by block."""
    return watched_allocator(device, expandable=False)


def expandable(device: str) -> dict:
    """As segments, with expandable ones: its process needs EXPANDABLE in its environment."""
    return watched_allocator(device, expandable=True)


def watched_allocator(device: str, expandable: bool) -> dict:
    assert device == "cuda", "only CUDA's allocator has a snapshot"
    assert not expandable or EXPANDABLE.items() <= os.environ.items(), f"needs {EXPANDABLE} in its environment"
    _, snapshot = snapshot_after(lambda: profile_step(**size(device), device=device, steps=2))
    return modelled(snapshot, expandable)


def modelled(snapshot, expandable: bool) -> dict:
    """The model of the allocator beside a snapshot. AssertionError where too many blocks lie elsewhere."""
    history = snapshot.trace(emptied=True)
    made = replay(history, expandable=expandable, addresses=snapshot.addresses())
    told = compare(made, snapshot)
    print(told, *told.differences[:20], sep="\n")
    share = told.equal / told.blocks if told.blocks else 0.0
    assert share >= SAME, f"{told}; {'; '.join(told.differences[:4])}"
    return {
        "events": len(history),
        "blocks": told.blocks,
        "equal": told.equal,
        "allocated": list(told.allocated),
        "reserved": list(told.reserved),
    }


STEPS = {"adamw": (4.0, 4.3), "adamw-foreach": (4.8, 5.3), "adamw-fused": (4.0, 4.1)}  # peaks, in parameters' bytes


def optimizers(device: str) -> dict:
    """The highest moment of a second update, in units of the parameters: a parameter at a time, foreach, fused."""
    nlayers, side = (32, 1024) if roomy(device) else (32, 64)
    found = {}
    for how, (least, most) in STEPS.items():
        if how == "adamw-fused" and device == "cpu":
            continue  # the CPU's fused kernel is another one
        found[how] = update(device, how, nlayers, side)
        for source, peak in found[how].items():
            assert least <= peak <= most, f"{how}: {source} peaks at {peak:.2f} P, expected {least} to {most}"
    return {"peaks, in parameters": found, "record": {"memory-optimizers": found}}


def update(device: str, how: str, nlayers: int, side: int) -> dict[str, float]:
    """Peaks in P: tracked, and on CUDA allocated."""
    settle(device)
    before = on_cuda().allocated if device == "cuda" else 0
    maps = [torch.nn.Linear(side, side, bias=False, device=device) for _ in range(nlayers)]
    model = torch.nn.Sequential(*maps)
    optimizer = types.optimizer(how, model.parameters(), "fp32")
    held = 4 * nlayers * side * side
    for _ in range(2):
        if device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        for p in model.parameters():
            p.grad = torch.ones_like(p)
        with track(model, optimizer, devices=(device,)) as watch:
            optimizer.step()
        optimizer.zero_grad()
    found = {"tracked": watch.trace.peak.nbytes / held}
    if device == "cuda":
        found["allocated"] = (torch.cuda.max_memory_allocated() - before) / held
    return found
