"""Which tensor of a block is kept for backward, as data: the shape in symbols, the bytes of an element, and what splits it.

One list, three uses: Python adds it up, the calculator on the page adds the same list up, and a reader opens it.
Chapters: training-memory, too-big.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from helpers.facts import Model
from helpers.memory.closed_form.terms import Operator, shared

# b sequences, s tokens each, h the residual stream's width, a heads and k key/value heads of d, f the MLP's width, V the vocabulary,
# E experts of which a token visits x.

# Bytes of an element by what it is: the residual stream, what a matrix multiplication reads, and what never changes its type.
FIXED = {"fp32": 4, "mask": 1, "index": 8}
WIDTHS = {
    "fp32": {"stream": 4, "compute": 4, **FIXED},
    "bf16": {"stream": 2, "compute": 2, **FIXED},
    "bf16-fp32grads": {"stream": 2, "compute": 2, **FIXED},
    "bf16-true": {"stream": 2, "compute": 2, **FIXED},
    "autocast": {"stream": 4, "compute": 2, **FIXED},
}


@dataclass(frozen=True)
class Kept:
    """One tensor. role: a key of WIDTHS; split: "tensor" (divided under tensor parallelism), "sequence" (with sequence parallelism too).

    core: part of attention's core, which selective recomputation throws away. readers: matrix multiplications that read it; under
    autocast each makes a 16-bit copy of its own.
    """

    name: str
    keeps: str
    shape: tuple[str, ...]
    role: str = "compute"
    split: str = "sequence"
    core: bool = False
    readers: int = 1
    source: str = "korthikanti"


def kept(name: str, keeps: str, shape: str, role: str = "compute", split: str = "sequence", **more: Any) -> Kept:
    """A Kept whose shape is written "b s h"."""
    return Kept(name, keeps, tuple(shape.split()), role, split, **more)


def sizes(model: Model, batch: int, seq: int) -> dict[str, int]:
    """What the symbols stand for."""
    return {
        "b": batch,
        "s": seq,
        "h": model.hidden,
        "a": model.heads,
        "k": model.kv_heads,
        "d": model.head_dim,
        "d/2": model.head_dim // 2,
        "f": model.ffn,
        "V": model.vocab,
        "f/E": -(-model.ffn // max(1, model.experts)),
        "E": model.experts,
        "x": model.active,
    }


def numel(shape: Iterable[str], values: Mapping[str, int]) -> int:
    """Elements of a tensor of that shape."""
    product = 1
    for symbol in shape:
        product *= values[symbol]
    return product


def divided(split: str, tensor: int, sequence: bool) -> int:
    """Among how many ranks a tensor of that kind is split."""
    return tensor if split == "tensor" or (split == "sequence" and sequence) else 1


def operators(
    items: Iterable[Kept], values: Mapping[str, int], precision: str, tensor: int = 1, sequence: bool = False
) -> tuple[Operator, ...]:
    """The list in bytes, on one of `tensor` ranks."""
    items = copied(items, precision)
    return tuple(_operator(item, values, precision, divided(item.split, tensor, sequence)) for item in items)


def copied(items: Iterable[Kept], precision: str) -> tuple[Kept, ...]:
    """Under autocast, a copy for each reader; else the list as it is."""
    return tuple(item for item in items for _ in range(item.readers if precision == "autocast" else 1))


def _operator(item: Kept, values: Mapping[str, int], precision: str, over: int) -> Operator:
    width = WIDTHS[precision][item.role]
    nbytes = width * shared(numel(item.shape, values), over)
    return Operator(item.name, item.keeps, item.shape, width, over, nbytes, item.source)


# as one formula, "b s h (12 + 4 g + 8 r)"; nobody types it: it is the list, collected ---------------------------------------
# A tensor's sides beside b and s, in units of h: g is key/value heads per head, r the MLP's width per h.
RATIOS = {
    ("h",): "",
    ("a", "d"): "",
    ("k", "d"): "g",
    ("f",): "r",
    ("x", "h"): "x",
    ("x", "f"): "x r",
    ("a", "s"): "a s/h",
    ("V",): "V/h",
}
SMALL = (("a",), (), ("E",), ("x",))  # a number a token, a head or an expert: shown as "small"


def ratios(model: Model) -> dict[str, float]:
    """Where a paper writes numbers: GPT's MLP of 4 h and full heads are no symbols; Llama's r and g stay."""
    if model.mlp != "gelu":
        return {}
    return {"r": model.ffn / model.hidden, "g": model.kv_heads / model.heads}


def coefficients(items: Iterable[Kept], numbers: Mapping[str, float], precision: str) -> dict[tuple[str, str], float]:
    """Bytes for each b s h, by (ratio, split): {("", "sequence"): 8, ("g", "tensor"): 4, ...}. Without the small ones."""
    found: dict[tuple[str, str], float] = {}
    for item in copied(items, precision):
        rest = _beside(item.shape)
        if rest in SMALL:
            continue
        ratio = RATIOS[rest]
        key = "" if ratio in numbers else ratio, item.split
        found[key] = found.get(key, 0) + numbers.get(ratio, 1) * WIDTHS[precision][item.role]
    return found


def _beside(shape: tuple[str, ...]) -> tuple[str, ...]:
    """A shape without its sequences and, once, its tokens."""
    left = [symbol for symbol in shape if symbol != "b"]
    if "s" in left:
        left.remove("s")
    return tuple(left)


def spell(
    items: Iterable[Kept],
    numbers: Mapping[str, float] = MappingProxyType({}),
    precision: str = "bf16",
    tensor: int = 1,
    sequence: bool = False,
) -> str:
    """ "34 + 5 a s/h", "10 + 24/t + 5 a s/h/t", "12 + 4 g + 8 r": bytes for each b s h of one block.

    numbers: symbols that are written as numbers, {"r": 4}.
    """
    added: dict[tuple[str, str], float] = {}
    for (ratio, split), value in coefficients(items, numbers, precision).items():
        key = ratio, "/t" if divided(split, tensor, sequence) > 1 else ""
        added[key] = added.get(key, 0) + value
    order = sorted(added, key=lambda key: (list(RATIOS.values()).index(key[0]), key[1]))
    return " + ".join(f"{added[key]:g}{' ' if key[0] else ''}{key[0]}{key[1]}" for key in order)
