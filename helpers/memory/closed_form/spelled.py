"""A list of kept tensors written as one formula, "b s h (12 + 4 g + 8 r)". Nobody types it: it is the list, collected.

Chapters: training-memory, too-big.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from helpers.facts import Model
from helpers.memory.closed_form.kept import WIDTHS, Kept, copied, divided

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
