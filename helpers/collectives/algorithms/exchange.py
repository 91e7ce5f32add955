"""Everybody with everybody: one partner at a time, or all at once.

Where every pair of GPUs has a path of its own (NVSwitch), nothing needs to be passed on: two-shot moves as few bytes as the
ring with far fewer synchronizations, one-shot more bytes with a single one. In the notation of this course a rank's port serves
one message after another, so the P-1 messages of a shot stand in P-1 steps, in both.
Chapters: halving-doubling, inside-nccl.
"""

from __future__ import annotations

from fractions import Fraction

from ..about import algorithm
from ..forms import P, ceil
from ..schedule import Schedule
from ..transfers import Transfer, transfers, whole
from . import flat

SOURCE = '"Pairwise exchange" of Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005'
SHOTS = "one_shot and two_shot of PyTorch's symmetric memory (torch.ops.symm_mem)"


@algorithm(
    "all_to_all",
    "pairwise",
    steps=2 * ceil(P / 2) - 1,
    moves=(P - 1) / P,
    loads=lambda nranks: [((nranks - 1) | 1, 1, Fraction(1, nranks))],
    used_by="MPICH for long messages",
    chapter="halving-doubling",
    source=SOURCE,
)
def all_to_all(nranks: int) -> Schedule:
    """Rounds of a tournament: in each, every rank exchanges with one partner; with odd P one rank sits out every round.

    MPICH pairs r with r xor t where P is a power of two. Here, in round t, r plays (t - r) modulo P-1 (modulo P for odd P), and
    who would play itself plays the last rank.
    """
    whole("nranks", nranks, 1)
    steps = transfers(
        ((r, peer, r * nranks + peer, "copy") for r, peer in _round(nranks, t)) for t in range((nranks - 1) | 1)
    )
    return Schedule("all_to_all", "pairwise", nranks, nranks * nranks, steps if nranks > 1 else ())


def _round(nranks: int, t: int) -> list[tuple[int, int]]:
    """(rank, partner) for everybody who plays in round t."""
    seats = (nranks - 1) | 1  # an odd number
    pairs = [(r, (t - r) % seats) for r in range(seats)]
    alone = next(r for r, peer in pairs if r == peer)
    both = [(r, peer) for r, peer in pairs if r != peer]
    return both if nranks % 2 else [*both, (alone, nranks - 1), (nranks - 1, alone)]


@algorithm(
    "all_reduce",
    "one-shot",
    steps=P,
    moves=P - 1,
    loads=lambda nranks: [(nranks, 1, 1)],
    used_by="PyTorch symmetric memory, NCCL's symmetric kernels, vLLM and TensorRT-LLM for short messages",
    chapter="inside-nccl",
    source=SHOTS,
)
def one_shot(nranks: int) -> Schedule:
    """Every rank reads the whole buffer of every other rank and adds it up in registers, then into its own buffer.

    The registers of rank r are place P + r: a place that many may add into at once, as into a switch, since the inputs must stay
    as they are until all have read them. A GPU does this by loads from its peers' memory; `execute` by messages into a buffer.
    """
    whole("nranks", nranks, 1)
    ranks = range(nranks)
    reads = transfers((((r + t) % nranks, nranks + r, 0, "reduce") for r in ranks) for t in range(1, nranks))
    add = tuple(Transfer(nranks + r, r, 0, "reduce") for r in ranks)
    return Schedule("all_reduce", "one-shot", nranks, 1, (*reads, add) if nranks > 1 else (), nswitches=nranks)


@algorithm(
    "all_reduce",
    "two-shot",
    steps=2 * (P - 1),
    moves=2 * (P - 1) / P,
    loads=lambda nranks: [(2 * (nranks - 1), 1, Fraction(1, nranks))],
    used_by="PyTorch symmetric memory, NCCL's symmetric kernels, vLLM and TensorRT-LLM for middling sizes",
    chapter="inside-nccl",
    source=SHOTS,
)
def two_shot(nranks: int) -> Schedule:
    """Every rank adds up its own chunk, which all others send it, and then sends the sum to all others."""
    return (flat.reduce_scatter(nranks) + flat.all_gather(nranks)).named("all_reduce", "two-shot")
