"""The block of the source article's script: nn.TransformerEncoderLayer as it comes, normalised after, ReLU, fp32.

Torch's own layer makes copies that no formula for "a transformer" has; the list shows them. Chapter: training-memory.
"""

from __future__ import annotations

from functools import partial

from helpers.memory.closed_form.kept import Kept, operators
from helpers.memory.closed_form.kept import kept as _kept
from helpers.memory.closed_form.spelled import spell
from helpers.memory.closed_form.terms import FormError, Term, one_of, whole

DEVICES = ("cuda-like", "cpu")
kept = partial(_kept, source="torch-mha")
SCORES = tuple(
    kept("attention", text, "b a s s")
    for text in ("the softmax's result", "dropout's noise", "dropout's result, which multiplies the values")
)
SCALED = tuple(kept("attention", f"{text}, scaled", "b s a d") for text in ("queries", "keys"))
FUSED = (
    kept("attention", "its result", "b s a d"),
    kept("attention", "log of the sum of exponentials, a row", "b s a", "fp32"),
)


def article_kept(dropout: float = 0.1, device: str = "cuda-like") -> tuple[Kept, ...]:
    """What one such block keeps.

    On a CPU a dropout keeps an fp32 number for each element where CUDA keeps one byte, and attention with dropout writes out its
    scores: the same block keeps more there.
    """
    one_of(DEVICES, device=device)
    if not 0 <= dropout < 1:
        raise FormError(f"dropout must be at least 0 and below 1, got {dropout!r}")
    mask = "stream" if device == "cpu" else "mask"
    drop = (kept("dropout", "its mask", "b s h", mask),) if dropout else ()
    return (*_attention(dropout, device), *drop, *_norm("norm 1"), *_mlp(dropout, mask), *drop, *_norm("norm 2"))


def _attention(dropout: float, device: str) -> tuple[Kept, ...]:
    copies = (kept("attention", f"{text}, a copy", "b s a d") for text in ("queries", "keys", "values"))
    inside = (*SCALED, *SCORES) if device == "cpu" and dropout else FUSED
    first = kept("in-projection", "its input, tokens first", "b s h")
    return (first, *copies, *inside, kept("out-projection", "its input, tokens first: a copy", "b s h"))


def _mlp(dropout: float, mask: str) -> tuple[Kept, ...]:
    first = (kept("linear 1", "its input", "b s h"), kept("ReLU", "its result", "b s f"))
    if not dropout:
        return first  # linear 2 reads what ReLU has kept already
    return (*first, kept("dropout", "its mask", "b s f", mask), kept("linear 2", "its input", "b s f"))


def _norm(name: str) -> tuple[Kept, ...]:
    statistics = kept(name, "the mean and 1/deviation of every token", "b s", "fp32")
    return (kept(name, "its input, the sum", "b s h"), statistics, statistics)


def article_block(
    batch: int,
    seq: int,
    width: int = 512,
    heads: int = 8,
    ffn: int = 2048,
    dropout: float = 0.1,
    device: str = "cuda-like",
) -> Term:
    """Bytes that one such block keeps. Its formula counts fp32 numbers: 24 + 3 a s/h on a CPU, 18.5, or 13 without dropout."""
    whole(batch=batch, seq=seq, width=width, heads=heads, ffn=ffn)
    if width % heads:
        raise FormError(f"width={width} is not a multiple of heads={heads}")
    values = {"b": batch, "s": seq, "h": width, "a": heads, "d": width // heads, "f": ffn}
    items = article_kept(dropout, device)
    formula = f"4 b s h ({spell(items, {'r': ffn / width}, 'fp32', unit=4)})"
    return Term("article's block", "activation", formula, operators(items, values, "fp32"), 1, "torch-mha")
