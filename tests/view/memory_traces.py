"""Made-up traces for the tests of the memory widget: any, and one that looks like a training step."""

from __future__ import annotations

import random

from helpers.memory import CLASSES, Event, Sample, Trace

SOURCES = ("measured (CUDA allocator)", "tracked (CPU tensors)", "predicted (meta)")


def some_trace(rng: random.Random, nevents: int = 60) -> Trace:
    """Any trace that does not contradict itself: blocks of all sizes, classes that change, marks, ids with gaps, times or none."""
    events, alive, block, now = [], [], -1, 0.0
    timed, gaps, largest = rng.random() < 0.6, rng.random() < 0.3, rng.choice([100, 10**6, 10**10])
    for _ in range(rng.randint(1, nevents)):
        now += round(rng.expovariate(1000), 6) if timed else 0.0
        where = (
            rng.choice(["", "layers.0", "layers.1.linear", "layers.12.attn.q", "head"]),
            rng.choice(["", "forward", "backward", "step"]),
        )
        told = (*where, rng.choice(["", "aten::mm", "aten::add_", "a mark"]), round(now, 6))
        kind = rng.choice(["alloc", "alloc", "alloc", "free", "free", "class", "mark"])
        if kind == "alloc":
            block += rng.randint(1, 5) if gaps else 1
            event = Event("alloc", block, rng.choice([rng.randint(0, largest), 512, 4]), rng.choice(CLASSES), *told)
            alive.append(event)
        elif kind == "mark" or not alive:
            event = Event("mark", -1, 0, "temporary", *told)
        else:
            at = rng.randrange(len(alive))
            held = alive[at]
            event = Event(kind, held.block, held.nbytes, rng.choice(CLASSES) if kind == "class" else held.cls, *told)
            alive[at : at + 1] = [event] if kind == "class" else []
        events.append(event)
    samples = [
        Sample(i, rng.randint(0, largest), rng.randint(0, largest))
        for i in sorted(rng.sample(range(len(events)), min(3, len(events))))
    ]
    about = {"label": f"case {rng.randint(0, 99)}"}
    return Trace(tuple(events), rng.choice(SOURCES), about, tuple(samples) if rng.random() < 0.3 else ())


class Recorder:
    """Writes events as a tracker would."""

    def __init__(self, tick: float):
        self.events: list[Event] = []
        self.made = self.now = 0
        self.tick, self.module, self.phase = tick, "", ""

    def _note(self, kind: str, block: int, nbytes: int, cls: str, op: str) -> None:
        self.now += self.tick
        self.events.append(Event(kind, block, nbytes, cls, self.module, self.phase, op, round(self.now, 6)))

    def alloc(self, nbytes: int, cls: str = "temporary", op: str = "aten::mm") -> tuple[int, int]:
        self.made += 1
        self._note("alloc", self.made - 1, nbytes, cls, op)
        return self.made - 1, nbytes

    def free(self, held: tuple[int, int], cls: str, op: str = "") -> None:
        self._note("free", *held, cls, op)

    def mark(self, name: str) -> None:
        self._note("mark", -1, 0, "temporary", name)


def step_trace(
    layers: int = 6,
    nops: int = 8,
    unit: int = 2**20,
    tick: float = 0.001,
    source: str = "tracked (CPU tensors)",
    **about: object,
) -> Trace:
    """Two steps of Adam on `layers` layers of `nops` operations, a block of `unit` bytes each: shaped like the real thing."""
    r = Recorder(tick)
    params, state, grads = [], [], {}
    for layer in range(layers):
        r.module = f"layers.{layer}"
        params += [(layer, r.alloc(3 * unit, "parameter", "aten::empty"))]
    r.module = ""
    r.mark("model")
    batch = r.alloc(unit // 2, "input", "aten::randn")
    for turn in range(2):
        kept = _forward(r, layers, nops, unit)
        r.mark(f"after forward {turn + 1}")
        for layer in reversed(range(layers)):
            _backward(r, layer, kept[layer], grads, unit)
        r.module, r.phase = "", "step"
        for layer, _ in params:
            r.module = f"layers.{layer}"
            state += [] if turn else [r.alloc(3 * unit, "optimizer", "aten::zeros_like") for _ in range(2)]
            held = r.alloc(3 * unit, op="aten::sqrt")
            r.free(held, "temporary")
        r.module = ""
        r.mark(f"after step {turn + 1}")
        r.phase = "zero_grad"
        for held in grads.values():
            r.free(held, "gradient")
        grads.clear()
        r.phase = ""
    r.free(batch, "input")
    return Trace(tuple(r.events), source, {"label": f"{layers} made-up layers", "torch": "2.13.0", **about})


def _forward(r: Recorder, layers: int, nops: int, unit: int) -> list[list[tuple[int, int]]]:
    r.phase, kept = "forward", []
    for layer in range(layers):
        kept.append([])
        for op in range(nops):
            r.module = f"layers.{layer}.{'attn' if op < nops // 2 else 'mlp'}"
            held, scratch = r.alloc(unit), r.alloc(unit // 4, op="aten::mul")
            r._note("class", *held, "activation", "aten::mm")
            r.free(scratch, "temporary")
            kept[-1].append(held)
    return kept


def _backward(r: Recorder, layer: int, kept: list, grads: dict, unit: int) -> None:
    r.phase, r.module = "backward", f"layers.{layer}.mlp"
    for held in reversed(kept):
        r.free(r.alloc(unit, op="aten::mm"), "temporary")
        r.free(held, "activation")
    r.module = f"layers.{layer}"
    grads[layer] = r.alloc(3 * unit, "gradient", "aten::mm")
