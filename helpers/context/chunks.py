"""Which tokens of a sequence each rank has, and which of its queries look at whose keys. Chapter: context.

Three orders, each with seq / P tokens on every rank:
- "plain": rank r has the r-th of P equal pieces. Causal attention looks back only, so the last rank computes most.
- "zigzag": 2P chunks; rank r has chunks r and 2P-1-r, one early and one late, so all compute equally much. Megatron-LM and torch's
  context_parallel do so (torch 2.13, _context_parallel/_load_balancer.py), and so does Llama 3.
- "striped": rank r has tokens r, r + P, r + 2P, ... (Striped Attention, arXiv 2311.09431).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

ORDERS = ("plain", "zigzag", "striped")
Chunk = range  # the positions of tokens that lie beside each other on a rank


def check(order: str, seq: int, nranks: int) -> int:
    """Tokens of one chunk. ValueError for an order that there is not, and for a sequence that is not shared evenly, with what would be."""
    if order not in ORDERS:
        raise ValueError(f"an order of tokens is one of {', '.join(ORDERS)}, got {order!r}")
    for name, value in (("seq", seq), ("context ranks", nranks)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} is a whole number from 1 on, got {value!r}")
    parts = 2 * nranks if order == "zigzag" else nranks
    if seq % parts:
        below, above = seq // parts * parts, (seq // parts + 1) * parts
        sizes = f"{below} or {above}" if below else f"{above}"
        raise ValueError(
            f"{order} cuts a sequence into {parts} chunks for {nranks} context ranks, and seq {seq} is no multiple of {parts}: "
            f"take seq {sizes}"
        )
    return seq // parts


def chunks(order: str, seq: int, nranks: int, rank: int) -> tuple[Chunk, ...]:
    """The positions that a rank has, chunk by chunk in ascending order. ValueError as `check`, and for a rank that there is not."""
    each = check(order, seq, nranks)
    if rank not in range(nranks):
        raise ValueError(f"a rank is one of 0 to {nranks - 1}, got {rank!r}")
    if order == "striped":
        return (range(rank, seq, nranks),)
    numbers = (rank, 2 * nranks - 1 - rank) if order == "zigzag" else (rank,)
    return tuple(range(n * each, (n + 1) * each) for n in numbers)


def positions(order: str, seq: int, nranks: int, rank: int) -> list[int]:
    """The same one by one: what learned or rotary positions of the rank's tokens are."""
    return list(chain(*chunks(order, seq, nranks, rank)))


def source(rank: int, step: int, nranks: int) -> int:
    """Whose keys a rank has at a step of the ring: its own at step 0, then each time those of one rank further back."""
    return (rank - step) % nranks


def chunk_pairs(order: str, seq: int, nranks: int, rank: int, step: int) -> Iterator[tuple[Chunk, Chunk]]:
    """What the rank computes at this step: (chunk of queries, chunk of keys) but for keys that all lie in the future."""
    for queries in chunks(order, seq, nranks, rank):
        for keys in chunks(order, seq, nranks, source(rank, step, nranks)):
            if keys[0] <= queries[-1]:
                yield queries, keys
