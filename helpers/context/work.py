"""How much of the causal triangle each rank computes, at each step of the ring: counted, and in closed form. Chapter: context.

A score is one query against one key. One that counts has its key no later than its query: seq (seq + 1) / 2 of them in all.
"""

from __future__ import annotations

from fractions import Fraction

from .chunks import Chunk, check, chunk_pairs, chunks


def seen(queries: Chunk, keys: Chunk) -> int:
    """How many scores count: pairs whose key is no later than the query. ValueError for chunks of unequal steps."""
    if queries.step != keys.step:
        raise ValueError(f"chunks of one order have one step, got {queries} and {keys}")
    # Keys that already come before the first query, if there were no ends
    before = (queries.start - keys.start) // queries.step

    def so_far(n: int) -> int:
        """1 + 2 + ... + n, of which none counts more than all keys; 0 for n below 1."""
        most = max(0, min(n, len(keys)))
        return most * (most + 1) // 2 + len(keys) * max(0, n - len(keys))

    return so_far(before + len(queries)) - so_far(before)


def work(order: str, seq: int, nranks: int) -> list[list[int]]:
    """[rank][step]: the scores that count. ValueError as `chunks.check`."""
    check(order, seq, nranks)
    return [
        [sum(seen(*pair) for pair in chunk_pairs(order, seq, nranks, rank, step)) for step in range(nranks)]
        for rank in range(nranks)
    ]


def work_share(order: str, seq: int, nranks: int, rank: int) -> Fraction:
    """Of all scores that count, this rank's, in closed form. With n = seq / P tokens a rank, of seq (seq + 1) / 2:

    plain     r n^2 + n (n + 1) / 2: n^2 for every rank before it, and the triangle of its own
    zigzag    n (seq + 1) / 2: exactly a P-th
    striped   P n (n - 1) / 2 + n (r + 1): a P-th, but for n (P - 1) / 2 at most
    """
    check(order, seq, nranks)
    chunks(order, seq, nranks, rank)
    n = seq // nranks
    counts: dict[str, int | Fraction] = {
        "plain": rank * n * n + n * (n + 1) // 2,
        "zigzag": Fraction(n * (seq + 1), 2),
        "striped": nranks * n * (n - 1) // 2 + n * (rank + 1),
    }
    return Fraction(2 * counts[order]) / (seq * (seq + 1))


def slowest(order: str, seq: int, nranks: int) -> int:
    """Scores of the rank that has most, which all others wait for: the last one. Of seq (seq + 1) / (2P) if all had equally many.

    plain     (P - 1) n^2 + n (n + 1) / 2: at every step but the first it computes a whole square
    zigzag    n (seq + 1) / 2, as all do
    striped   P n (n + 1) / 2
    """
    check(order, seq, nranks)
    n = seq // nranks
    triangle = n * (n + 1) // 2
    return {
        "plain": (nranks - 1) * n * n + triangle,
        "zigzag": n * (seq + 1) // 2,
        "striped": nranks * triangle,
    }[order]
