"""Recursive halving and doubling: ranks exchange with partners at distances that are powers of two.

In halving, distance and data halve in every step; in doubling, both double. Where P is no power of two, the ranks beyond the
largest power of two below it fold: each hands its data to a partner before, and gets its result from it afterwards.
In the source the fold shares out the additions too; so does Open MPI 5.0.11, where rank 0 of five then sends 3 N instead of 2.5 N.
In MPI and Gloo; NCCL has none of it.
Chapter: halving-doubling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from ..about import algorithm
from ..forms import P, floor, function, log2, minimum
from ..profiles import LoadLike
from ..schedule import Schedule
from ..transfers import Row, transfers, whole

SOURCE = 'Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005'
PARTNERS = "with a fold, the partners of the ranks that fold; else none"
CORE = 2 ** floor(log2(P))  # so many ranks take part all the time
FOLD = minimum(1, P - CORE)  # 1 where the others fold, 0 where there are none

Chunks = Callable[[int], Iterable[int]]  # core rank -> the chunks that it is in charge of
Rows = Iterable[Row]  # of one step


def _core(nranks: int) -> int:
    """The largest power of two that is not above nranks: so many ranks take part all the time."""
    whole("nranks", nranks, 1)
    return 1 << (nranks.bit_length() - 1)


@function
def folded(nranks: int) -> int:
    """The sum of min(d, nranks - core) over the powers of two d below the core."""
    return sum(min(d, nranks - _core(nranks)) for d in _distances(_core(nranks)))


def _distances(core: int) -> list[int]:
    return [1 << k for k in range(core.bit_length() - 1)]


def _folds(nranks: int, share: Fraction | int) -> LoadLike:
    return (int(nranks > _core(nranks)), 1, share)


def _halves(nranks: int) -> list[LoadLike]:
    """Core rank 0 is in charge of as many chunks as any."""
    core = _core(nranks)
    return [(1, 1, Fraction(min(2 * d, d + nranks - core), nranks)) for d in _distances(core)]


def _all_reduce_loads(nranks: int) -> list[LoadLike]:
    core = _core(nranks)
    halves = [(1, 1, Fraction(d, core)) for d in _distances(core)]
    return [_folds(nranks, 1), *reversed(halves), *halves, _folds(nranks, 1)]


@algorithm(
    "all_reduce",
    "halving-doubling",
    steps=2 * floor(log2(P)) + 2 * FOLD,
    moves=2 - 2 / CORE + FOLD,
    loads=_all_reduce_loads,
    bottleneck=PARTNERS,
    used_by="MPICH for all but the shortest messages, Gloo's older API; not NCCL",
    chapter="halving-doubling",
    source=SOURCE,
)
def all_reduce(nranks: int) -> Schedule:
    """Reduce-scatter by recursive halving, then all-gather by recursive doubling (Rabenseifner), with the fold around it."""
    core = _core(nranks)
    fold, unfold = _fold(nranks, range(core))
    steps = (*fold, *_halving(core, lambda k: [k]), *_doubling(core, lambda k: [k]), *unfold)
    return Schedule("all_reduce", "halving-doubling", nranks, core, transfers(steps))


@algorithm(
    "all_reduce",
    "recursive-doubling",
    steps=floor(log2(P)) + 2 * FOLD,
    moves=floor(log2(P)) + FOLD,
    loads=lambda nranks: [_folds(nranks, 1), (_core(nranks).bit_length() - 1, 1, 1), _folds(nranks, 1)],
    bottleneck=PARTNERS,
    used_by="MPICH for the shortest messages; not NCCL",
    chapter="halving-doubling",
    source=SOURCE,
)
def doubled_all_reduce(nranks: int) -> Schedule:
    """Partners exchange and add the whole buffer in every step: fewest steps, and as many buffers as steps."""
    core = _core(nranks)
    fold, unfold = _fold(nranks, [0])
    steps: list[Rows] = [[(k, k ^ d, 0, "reduce") for k in range(core)] for d in _distances(core)]
    return Schedule("all_reduce", "recursive-doubling", nranks, 1, transfers((*fold, *steps, *unfold)))


@algorithm(
    "reduce_scatter",
    "recursive-halving",
    steps=floor(log2(P)) + 2 * FOLD,
    moves=FOLD + (CORE - 1 + folded(P)) / P,
    loads=lambda nranks: [_folds(nranks, 1), *_halves(nranks)[::-1], _folds(nranks, Fraction(1, nranks))],
    bottleneck=PARTNERS,
    used_by="MPICH for short messages, Gloo's older API; not NCCL",
    chapter="halving-doubling",
    source=SOURCE,
)
def reduce_scatter(nranks: int) -> Schedule:
    """Recursive halving: partners exchange the half that the other is in charge of, then a quarter, ...

    A rank that folds gets its own chunk at the end from its partner, which was in charge of both.
    """
    core, charge = _core(nranks), _in_charge(nranks)
    fold, _ = _fold(nranks, range(nranks))
    last: list[Row] = [(r - core, r, r, "copy") for r in range(core, nranks)]
    steps = (*fold, *_halving(core, charge), *([last] if last else []))
    return Schedule("reduce_scatter", "recursive-halving", nranks, nranks, transfers(steps))


@algorithm(
    "all_gather",
    "recursive-doubling",
    steps=floor(log2(P)) + 2 * FOLD,
    moves=(CORE - 1 + folded(P) + (P - 1) * FOLD) / P,
    loads=lambda nranks: [
        _folds(nranks, Fraction(1, nranks)),
        *_halves(nranks),
        _folds(nranks, Fraction(nranks - 1, nranks)),
    ],
    bottleneck=PARTNERS,
    used_by="MPICH for short messages where P is a power of two; not NCCL",
    chapter="halving-doubling",
    source=SOURCE,
)
def all_gather(nranks: int) -> Schedule:
    """Recursive doubling: partners exchange all that they have, so that everybody has twice as much in every step."""
    core, charge = _core(nranks), _in_charge(nranks)
    first: list[Row] = [(r, r - core, r, "copy") for r in range(core, nranks)]
    last: list[Row] = [(r - core, r, c, "copy") for r in range(core, nranks) for c in range(nranks) if c != r]
    ends = ([first], [last]) if first else ([], [])
    steps = (*ends[0], *_doubling(core, charge), *ends[1])
    return Schedule("all_gather", "recursive-doubling", nranks, nranks, transfers(steps))


def _in_charge(nranks: int) -> Chunks:
    """Core rank k is in charge of its own chunk, and of that of the rank that folds into it."""
    return lambda k: range(k, nranks, _core(nranks))


def _fold(nranks: int, chunks: Iterable[int]) -> tuple[list[Rows], list[Rows]]:
    """(before, after): rank core + i adds its whole buffer into rank i, and gets it back; two empty lists for a power of two."""
    core = _core(nranks)
    pairs = [(r, r - core, c) for r in range(core, nranks) for c in chunks]
    before: list[Row] = [(r, partner, c, "reduce") for r, partner, c in pairs]
    after: list[Row] = [(partner, r, c, "copy") for r, partner, c in pairs]
    return ([before], [after]) if pairs else ([], [])


def _halving(core: int, charge: Chunks) -> Iterable[Rows]:
    for d in reversed(_distances(core)):
        yield [(k, k ^ d, c, "reduce") for k in range(core) for j in _block(k ^ d, d) for c in charge(j)]


def _doubling(core: int, charge: Chunks) -> Iterable[Rows]:
    for d in _distances(core):
        yield [(k, k ^ d, c, "copy") for k in range(core) for j in _block(k, d) for c in charge(j)]


def _block(k: int, d: int) -> range:
    """The core ranks that share all but the lowest bits with k: d of them."""
    return range(k // d * d, k // d * d + d)
