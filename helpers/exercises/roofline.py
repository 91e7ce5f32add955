"""The exercises of the chapter `roofline`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from helpers.facts import MODELS, Model
from helpers.memory.roofline import Roof, decoding, elementwise, gemm, gemv
from helpers.units import Bandwidth

from .answer import Answer, NotYetError, judge

EXACT = 1e-9


def _number(where: str, value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise NotYetError(f"{where}: expected {what}, got {value!r}.")
    return value


# the intensity of a product ----------------------------------------------------------------------------------------------
def intensity(answer: Callable[[int, int, int, float, float], float]) -> Answer:
    """answer(m, n, k, nbytes, weight_nbytes): FLOP per byte of [m, k] @ [k, n], each matrix crossing memory once."""
    shapes = [(1, 1, 1), (1, 4096, 4096), (64, 4096, 11008), (4096, 4096, 4096), (512, 50257, 768)]
    cases = [(*shape, *kinds) for shape in shapes for kinds in ((2, 2), (4, 4), (2, 0.5), (2, 1))]
    return judge(cases, lambda case: _intensity(answer, *case), f"Counted right for all {len(cases)} products.")


def _intensity(answer: Callable, m: int, n: int, k: int, nbytes: float, weight_nbytes: float) -> None:
    where = f"For [{m}, {k}] @ [{k}, {n}], {nbytes:g} bytes an element and {weight_nbytes:g} a weight"
    got, work = (
        _number(where, answer(m, n, k, nbytes, weight_nbytes), "FLOP per byte"),
        gemm(m, n, k, nbytes, weight_nbytes),
    )
    if abs(got / work.intensity - 1) > EXACT:
        raise NotYetError(
            f"{where}: you said {got:.4g} FLOP/B, it is {work.intensity:.4g}. Hint: {work.flops:g} FLOP; three matrices, and only"
            " [k, n] holds weights."
        )


# what fusing saves -------------------------------------------------------------------------------------------------------
def trips(answer: Callable[[Sequence[int]], tuple[int, int]]) -> Answer:
    """answer(others): how many tensors cross memory, op by op and fused into one.

    Each operation takes the last one's result and others[i] tensors that nobody made before, and makes one tensor.
    """
    cases = [(0,), (1,), (0, 0), (1, 0), (0, 1, 0), (2, 0, 1), (0,) * 8, (1,) * 5]
    return judge(cases, lambda others: _trips(answer, others), f"You counted {len(cases)} chains, apart and fused.")


def _trips(answer: Callable[[Sequence[int]], tuple[int, int]], others: Sequence[int]) -> None:
    chain = elementwise(1, nbytes=1, inputs=1 + others[0])
    for step, more in enumerate(others[1:], 1):
        after = elementwise(1, nbytes=1, inputs=1 + more)
        fresh = {f"x{i}": f"other {step}.{i}" for i in range(1, 1 + more)}
        chain = chain.then(after, x0=next(iter(chain.passes[-1].writes)), **fresh)
    got, want = answer(list(others)), (chain.nbytes, chain.fused().nbytes)
    where = f"For operations with {list(others)} further inputs"
    if not (isinstance(got, (tuple, list)) and len(got) == 2):
        raise NotYetError(f"{where}: expected two counts, apart and fused, got {got!r}.")
    if tuple(got) != want:
        raise NotYetError(
            f"{where}: you said {got[0]} and {got[1]}, it is {want[0]:g} and {want[1]:g}."
            " Hint: fused, what is made on the way is neither written nor read."
        )


# the batch that reaches the ridge ----------------------------------------------------------------------------------------
def ridge_batch(answer: Callable[[Roof, int, int, float], int | None]) -> Answer:
    """answer(roof, n, k, weight_nbytes): the smallest batch at which that layer is limited by arithmetic, None if none is.

    Activations have two bytes an element.
    """
    roofs = [
        Roof(f"{flops / 1e12:g} TFLOP/s", flops, Bandwidth(2e12, "both ways")) for flops in (20e12, 300e12, 2000e12)
    ]
    layers = [(4096, 4096), (11008, 4096), (64, 4096), (1000, 1000)]
    cases = [(roof, *layer, w) for roof in roofs for layer in layers for w in (2, 1, 0.5)]
    return judge(cases, lambda case: _ridge_batch(answer, *case), f"Right for all {len(cases)} layers and machines.")


def _ridge_batch(answer: Callable, roof: Roof, n: int, k: int, weight_nbytes: float) -> None:
    where = f"For [batch, {k}] @ [{k}, {n}] with {weight_nbytes:g} bytes a weight and a ridge at {roof.ridge:g} FLOP/B"
    got, want = answer(roof, n, k, weight_nbytes), _smallest(roof, n, k, weight_nbytes)
    if got is not None:
        got = _number(where, got, "a whole number or None")
    if got != want:
        hint = "as the batch grows, the intensity comes close to n k / (n + k), and no closer"
        raise NotYetError(f"{where}: you said {got}, it is {want}. Hint: {hint}.")


def _smallest(roof: Roof, n: int, k: int, weight_nbytes: float) -> int | None:
    """By doubling and halving, without the formula: the intensity only rises with the batch."""

    def reaches(batch: int) -> bool:
        return gemv(batch, n, k, 2, weight_nbytes).intensity >= roof.ridge

    if not reaches(2**40):
        return None
    low, high = 0, 2**40
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


# when the cache outweighs the weights ------------------------------------------------------------------------------------
def heavy_cache(answer: Callable[[Model, int], int]) -> Answer:
    """answer(model, batch): the shortest context for which a decoding step reads more cache than weights, both at two bytes."""
    names = ("GPT-2", "Llama-2-7B", "Llama-3-8B", "Llama-2-70B")
    cases = [(MODELS[name], batch) for name in names for batch in (1, 8, 64)]
    return judge(cases, lambda case: _heavy_cache(answer, *case), f"Right for all {len(cases)}.")


def _heavy_cache(answer: Callable[[Model, int], int], model: Model, batch: int) -> None:
    where = f"For {model.name} with {batch} request{'s' * (batch > 1)} at once"
    reads = {t: n for p in decoding(model, batch, 1).passes for t, n in p.reads.items()}
    weights, token = (sum(n for t, n in reads.items() if t.endswith(part)) for part in ("weight", "cache"))
    got, want = _number(where, answer(model, batch), "a number of tokens"), int(weights // token) + 1
    # Whoever counts the norms and one row of the embedding, too, is not wrong.
    if abs(got / want - 1) > 2e-3:
        raise NotYetError(
            f"{where}: you said {got:,.0f} tokens, it is {want:,}. Hint: each request reads its own cache, layers x 2 x"
            " kv_heads x head_dim numbers a token; all share the weights, of which the embedding table is only looked up."
        )
