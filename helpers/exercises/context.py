"""The exercises of the chapter `context`: parts of a softmax, a placement, a ring, and which way to move it.

The placement and the ring run on real ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from helpers.context import Ring, layer_passes
from helpers.facts import ACCELERATORS, LINKS, MODELS, Link
from helpers.parallel.attention.blocks import attend, merged
from helpers.parallel.counting import counted
from helpers.ranks import Ranks
from helpers.units import seconds_text

from .answer import Answer, NotYetError, judge
from .on_ranks import on_ranks

NEAR = 1e-9  # float64, a few additions in another order
D = 4  # numbers of a head
DEADLINE = 30.0


# two parts of a softmax ---------------------------------------------------------------------------------------------
class Keys(NamedTuple):
    """A case: how many keys the first part has and how many the second, and how large the scores are."""

    first: int
    second: int
    size: float = 1.0

    def __str__(self) -> str:
        large = f", scores of about {self.size:g}" if self.size > 1 else ""
        return f"{self.first} keys and {self.second}{large}"


PARTS = (Keys(1, 1), Keys(4, 4), Keys(1, 7), Keys(3, 0), Keys(5, 6, 1000.0))


def two_parts(answer: Callable[[Tensor, Tensor, Tensor, Tensor], Sequence[Tensor]]) -> Answer:
    """answer(out, lse, out2, lse2) returns (out, lse) over the keys of both parts.

    out: [queries, d], weighed by a softmax over one part's keys; lse: [queries], the logarithm of the sum of exponentials of its scores.
    """
    return judge(PARTS, lambda case: _two_parts(answer, case), "Two parts make the whole, whoever comes first.")


def _drawn(*size: int, seed: int = 0) -> Tensor:
    return torch.randn(size, dtype=torch.float64, generator=torch.Generator("cpu").manual_seed(seed), device="cpu")


def _two_parts(answer: Callable, case: Keys) -> None:
    q, k, v = _drawn(3, D) * case.size, _drawn(case.first + case.second, D, seed=1), _drawn(8 * 2, D, seed=2)
    v = v[: len(k)]
    want = _part(q, k, v)
    for these in (slice(None, case.first), slice(case.first, None)), (slice(case.first, None), slice(None, case.first)):
        parts = [_part(q, k[keys], v[keys]) for keys in these]
        if any(part[1].isneginf().all() for part in parts[:1]):
            continue  # a first part always has keys: in a ring it is the rank's own
        got = answer(*(t.clone() for part in parts for t in part))
        if not isinstance(got, tuple | list) or len(got) != 2:
            raise NotYetError(f"{case}: return two tensors, the output and its lse, got {got!r}")
        for name, mine, whole in zip(("the output", "lse"), got, want, strict=True):
            if not isinstance(mine, Tensor) or mine.shape != whole.shape:
                shape = list(mine.shape) if isinstance(mine, Tensor) else mine
                raise NotYetError(f"{case}: {name} is {list(whole.shape)}, you return {shape}")
            far = (mine - whole).abs().max().item()
            if not far <= NEAR * max(1.0, case.size):  # nan, too
                raise NotYetError(
                    f"{case}: {name} is off by {far:.3g}. Hint: by what does each part's sum of exponentials weigh,"
                    " and how does one add them without writing them out?"
                )


def _part(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """A softmax over these keys; without any its output is 0 and its lse -inf."""
    if not len(k):
        return torch.zeros_like(q), torch.full((len(q),), float("-inf"), dtype=q.dtype)
    found = attend(q[None, None], k[None, None], v[None, None])
    return found.out[0, 0], found.lse[0, 0]


# who has which chunks -----------------------------------------------------------------------------------------------
def even_chunks(answer: Callable[[int, int], Sequence[int]], ranks: Ranks) -> Answer:
    """answer(rank, nranks) runs on every rank and returns its two of the 2 * nranks chunks of a sequence, by number.

    All ranks then compute causal attention with the chunks they have, and count: every rank as many scores as any other.
    """
    nranks = ranks.world.nranks
    praise = f"Each of {nranks} ranks computes as many scores as any other, and the output is that of one process."
    return judge(("one token a chunk", "three tokens a chunk"), lambda case: _placed(answer, case, ranks), praise)


def _placed(answer: Callable, case: str, ranks: Ranks) -> None:
    each, nranks = (1 if case.startswith("one") else 3), ranks.world.nranks
    found = on_ranks(ranks, _looked, answer, each, limit=DEADLINE)
    taken = [number for numbers, _, _ in found for number in numbers]
    if sorted(taken) != list(range(2 * nranks)):
        told = "; ".join(f"rank {rank}: {numbers}" for rank, (numbers, _, _) in enumerate(found))
        raise NotYetError(f"Each of chunks 0 to {2 * nranks - 1} has one rank. You place {told}.")
    counts = [count for _, count, _ in found]
    if len(set(counts)) > 1:
        raise NotYetError(
            f"With {case} ranks compute {', '.join(map(str, counts))} scores."
            " Hint: chunk c looks at c chunks before it, and at itself; which two together look at equally many?"
        )
    if max(far for _, _, far in found) > NEAR:
        raise NotYetError(f"With {case} the output is not that of one process.")


def _looked(answer: Callable, each: int) -> tuple[list[int], int, float]:
    """In a rank: (its chunks, the scores that it computed, how far its output is from one process's)."""
    rank, nranks = dist.get_rank(), dist.get_world_size()
    numbers = [int(number) for number in answer(rank, nranks)]
    seq = 2 * nranks * each
    every: list = [None] * nranks
    dist.all_gather_object(every, numbers)
    if sorted(n for those in every for n in those) != list(range(2 * nranks)):
        return numbers, 0, 0.0
    q, k, v = (_drawn(1, 1, seq, D, seed=seed) for seed in range(3))
    want = _causal(q, k, v, torch.arange(seq, device="cpu"))[0]
    mine = torch.cat([torch.arange(n * each, (n + 1) * each, device="cpu") for n in numbers])
    out, count = _causal(q[:, :, mine], k, v, mine)
    return numbers, count, (out - want[:, :, mine]).abs().max().item()


def _causal(q: Tensor, k: Tensor, v: Tensor, at: Tensor) -> tuple[Tensor, int]:
    """(the output, how many scores count) of queries that stand at these positions."""
    seen = at[:, None] >= torch.arange(k.shape[2], device="cpu")
    return attend(q, k, v, seen).out, int(seen.sum())


# a ring -------------------------------------------------------------------------------------------------------------
def a_ring(answer: Callable[[Tensor, Tensor, Tensor], Tensor], ranks: Ranks) -> Answer:
    """answer(q, k, v) runs on every rank with its tokens, [1, heads, n, d] each: attention of its queries to all ranks' keys, no mask.

    It passes blocks to the next rank, and neither gathers all keys nor sends more than nranks - 1 times its own.
    """
    praise = "Every rank has seen all keys, one block at a time, and sent each block once."
    return judge(("one token a rank", "five tokens a rank"), lambda case: _ring(answer, case, ranks), praise)


def _ring(answer: Callable, case: str, ranks: Ranks) -> None:
    n = 1 if case.startswith("one") else 5
    for rank, (far, shape, ops, sent, least) in enumerate(on_ranks(ranks, _passed, answer, n, limit=DEADLINE)):
        if shape:
            raise NotYetError(f"With {case} rank {rank} returns {shape}. Expected its queries' results, shaped as q.")
        if not far <= NEAR:  # nan, too
            raise NotYetError(
                f"With {case} rank {rank} is off by {far:.3g}. Hint: whose keys are in your hands after a hop, and are"
                " parts weighed by their sums?"
            )
        if others := sorted(set(ops) - {"send", "recv"}):
            raise NotYetError(f"With {case}: right, but by {', '.join(others)}, which puts all keys on every rank.")
        if sent > least:
            raise NotYetError(f"With {case}: right, but rank {rank} sends {sent:g} bytes, and {least:g} are enough.")


def _passed(answer: Callable, n: int) -> tuple[float, str, list[str], float, float]:
    """In a rank: (how far off, what else it returned than q's shape, operations, bytes sent, bytes of a ring)."""
    rank, nranks, here = dist.get_rank(), dist.get_world_size(), torch.get_default_device()
    q, k, v = (_drawn(1, 2, n * nranks, D, seed=seed) for seed in range(3))
    own = slice(rank * n, (rank + 1) * n)
    want = attend(q[:, :, own], k, v).out
    mine = [one[:, :, own].contiguous().to(here) for one in (q, k, v)]
    with counted() as moved:
        got = answer(*mine)
    if not isinstance(got, Tensor) or got.shape != want.shape:
        return 0.0, f"{list(got.shape)}" if isinstance(got, Tensor) else repr(got), [], 0.0, 0.0
    least = (nranks - 1) * (mine[1].nbytes + mine[2].nbytes)
    return (got.cpu() - want).abs().max().item(), "", list(moved.by_op()), float(moved.sent()), float(least)


# ring or all-to-all -------------------------------------------------------------------------------------------------
RATE = ACCELERATORS["H100"].peak("bf16").number
WAYS = ("ring", "all_to_all")


class Job(NamedTuple):
    """A layer's attention in bf16, forward: `seq` tokens on `nranks` context ranks in zigzag order, each of `tensor` tensor ranks."""

    name: str
    seq: int
    nranks: int
    link: str
    tensor: int = 1

    def __str__(self) -> str:
        cut = f", {self.tensor} tensor ranks" if self.tensor > 1 else ""
        return f"{self.name}, {self.seq:,} tokens on {self.nranks} ranks over {self.link}{cut}"

    @property
    def bandwidth(self) -> float:
        """Bytes a second, one way."""
        return LINKS[self.link].bandwidth.value

    @property
    def kv_heads(self) -> int:
        """Heads of keys that the context ranks would have to share."""
        return MODELS[self.name].kv_heads // self.tensor

    @property
    def ring(self) -> Ring:
        """Without latencies."""
        bare = Link(0.0, LINKS[self.link].bandwidth)
        return Ring(MODELS[self.name], self.seq, self.nranks, bare, RATE, tensor=self.tensor)

    @property
    def stream(self) -> int:
        """Bytes of a rank's own queries."""
        model = MODELS[self.name]
        return model.heads * model.head_dim // self.tensor * self.seq // self.nranks * 2

    def shows(self) -> dict[str, float]:
        """Seconds by which each way makes the layer's forward longer; a way that cannot be is left out."""
        keys = self.ring.block * self.nranks
        moved = layer_passes("heads", keys, self.stream * self.nranks, self.nranks).forward[0].nbytes
        found = {"ring": self.ring.exposed()}
        return found if self.kv_heads % self.nranks else found | {"all_to_all": float(moved) / self.bandwidth}


JOBS = (
    Job("Llama-2-7B", 16384, 8, "nvlink-4"),
    Job("Llama-2-7B", 65536, 8, "nvlink-4"),
    Job("Llama-3-8B", 2048, 8, "nvlink-4"),
    Job("Llama-3-8B", 6144, 8, "nvlink-4"),
    Job("Llama-2-7B", 32768, 2, "infiniband-ndr"),
    Job("Llama-3-8B", 32768, 16, "infiniband-ndr"),
    Job("Llama-3-70B", 16384, 8, "infiniband-ndr", 8),
)


def ring_or_all_to_all(answer: Callable[[int, int, int, int, float, float], str]) -> Answer:
    """answer(nranks, kv_heads, block, stream, computes, bandwidth) returns "ring" or "all_to_all": what lengthens the forward less.

    kv_heads: that the ranks would share; block: bytes of the keys and values of a rank's own tokens; stream: of its queries, as many as
    of its results; computes: seconds of arithmetic with one block; bandwidth: bytes a second, one way. Latency is left out.
    """
    praise = (
        "The ring where it hides or heads do not go round, the all_to_all where little hides and few bytes are left."
    )
    return judge(JOBS, lambda job: _chosen(answer, job), praise)


def _chosen(answer: Callable, job: Job) -> None:
    shows, ring = job.shows(), job.ring
    got = answer(job.nranks, job.kv_heads, ring.block, job.stream, ring.computes()[1], job.bandwidth)
    if got not in WAYS:
        raise NotYetError(f"{job}: return one of {' and '.join(map(repr, WAYS))}, got {got!r}")
    if got not in shows:
        raise NotYetError(f"{job}: {job.kv_heads} heads of keys are not shared by {job.nranks} ranks.")
    if got != (best := min(shows, key=shows.__getitem__)):
        told = ", ".join(f"{way} {seconds_text(seconds)}" for way, seconds in shows.items())
        raise NotYetError(
            f"{job}: {best} shows less; forward gets longer by {told}. Hint: of a ring's block only what arithmetic does not"
            " hide is seen, at every hop; and what does an all_to_all move besides keys?"
        )


__all__ = ["a_ring", "attend", "even_chunks", "merged", "ring_or_all_to_all", "two_parts"]
