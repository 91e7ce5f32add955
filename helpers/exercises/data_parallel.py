"""The exercises of the chapter `data-parallel`: token weights and buckets on real ranks, the server's port on paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
import torch.distributed as dist
from torch import Tensor, nn

from helpers.memory.payloads import assigned
from helpers.parallel import MLP, Training
from helpers.parallel.data import server
from helpers.parallel.data.bucketed import Overlap
from helpers.ranks import Ranks

from .answer import Answer, NotYetError, judge
from .on_ranks import on_ranks

DEADLINE = 5.0  # seconds in one collective
NEAR = 1e-12  # numbers are about 1, and eight of them are added in any order
LAYERS = (  # bytes of each gradient, in the order of forward, and at how many a bucket is full
    ({"first": 8, "second": 8, "third": 8, "last": 8}, 16),
    ({"embedding": 64, "first": 8, "second": 8, "head": 8}, 24),
    ({"embedding": 16, "first": 32, "norm": 8, "second": 32, "head": 48}, 40),
)


def token_weights(answer: Callable[[list[Tensor], Tensor, int], None], n: int = 4) -> Answer:
    """answer(params, total, count) runs backward and leaves in every .grad the gradient of the mean over all ranks' samples.

    total: the sum of this rank's losses, count: how many it has; both may be zero on a rank. Everybody calls.
    n: ranks, two or more.
    """
    counts = ((3,) * n, tuple(range(1, n + 1)), (0, 5, *[1] * (n - 2)))  # samples of each rank
    praise = "The gradient of the mean over all samples on every rank, also where they are unequally many, or none."
    with Ranks(n, backend="gloo", timeout=DEADLINE) as ranks:
        return judge(counts, lambda counts: _weighed(ranks, answer, counts), praise)


def _weighed(ranks: Ranks, answer: Callable, counts: Sequence[int]) -> None:
    where = f"At {' + '.join(map(str, counts))} samples"
    want = _one_process(counts)
    for rank, got in enumerate(on_ranks(ranks, _try_weights, answer, counts, where=where)):
        if got is None:
            raise NotYetError(f"{where}: rank {rank} has a parameter without a gradient.")
        far = max((a - b).abs().max().item() for a, b in zip(got, want, strict=True))
        if not far <= NEAR:
            raise NotYetError(
                f"{where}: the gradients of rank {rank} are up to {far:.2g} from those of one process that has all samples."
            )


def _samples(rank: int, count: int) -> tuple[Tensor, Tensor]:
    made = torch.Generator("cpu").manual_seed(1 + rank)
    drawn = torch.randn(count, 4, generator=made, dtype=torch.float64, device="cpu")
    return drawn[:, :3], drawn[:, 3]


def _loss_sum(x: Tensor, y: Tensor) -> tuple[list[Tensor], Tensor]:
    """Two parameters, and the sum of squared errors."""
    weight, bias = nn.Parameter(torch.ones(3, dtype=x.dtype)), nn.Parameter(torch.zeros((), dtype=x.dtype))
    return [weight, bias], (x @ weight + bias - y).square().sum()


def _one_process(counts: Sequence[int]) -> list[Tensor]:
    every = [_samples(rank, count) for rank, count in enumerate(counts)]
    params, total = _loss_sum(*(torch.cat(parts) for parts in zip(*every, strict=True)))
    (total / sum(counts)).backward()
    return [p.grad for p in params]


def _try_weights(answer: Callable, counts: Sequence[int]) -> list[Tensor] | None:
    """In a rank: the gradients that the answer leaves; None where one has not come."""
    count = counts[dist.get_rank()]
    params, total = _loss_sum(*_samples(dist.get_rank(), count))
    answer(params, total, count)
    return None if any(p.grad is None for p in params) else [p.grad for p in params]


def early_buckets(answer: Callable[[Mapping[str, int], int], list[list[str]]], n: int = 2) -> Answer:
    """answer(nbytes, full) puts gradients into buckets: lists of names, each sent as soon as its last gradient has come.

    nbytes: bytes of each gradient, in the order of forward. A bucket holds `full` bytes or more, but for the last, and no more
    gradients than that takes; each is to leave as early as it can. n ranks run a backward with them.
    """
    praise = "Every bucket leaves as early as it can: the last layers share the first one."
    with Ranks(n, backend="gloo", timeout=DEADLINE) as ranks:
        return judge(LAYERS, lambda case: _early(ranks, answer, *case), praise)


def _early(ranks: Ranks, answer: Callable, nbytes: Mapping[str, int], full: int) -> None:
    where = f"At {', '.join(f'{name} {size}' for name, size in nbytes.items())} bytes, full at {full}"
    buckets = [list(bucket) for bucket in answer(dict(nbytes), full)]
    names = [name for bucket in buckets for name in bucket]
    if sorted(names) != sorted(nbytes):
        raise NotYetError(f"{where}: every gradient goes into one bucket, got {buckets}.")
    for number, bucket in enumerate(buckets[:-1]):
        if (held := sum(nbytes[name] for name in bucket)) < full:
            raise NotYetError(f"{where}: bucket {number} holds {held} bytes and is not the last.")
    left = on_ranks(ranks, _try_buckets, buckets, nbytes, where=where)[0]
    best = on_ranks(ranks, _try_buckets, _best(nbytes, full), nbytes, where=where)[0]
    for number, (got, want) in enumerate(zip(left, best, strict=False)):
        if got > want:
            raise NotYetError(f"{where}: bucket {number} leaves after gradient {got}, and could after {want}.")
    if len(left) != len(best):
        raise NotYetError(f"{where}: {len(left)} buckets leave, {len(best)} would do.")


def _best(nbytes: Mapping[str, int], full: int) -> list[list[str]]:
    backwards = list(reversed(nbytes))
    return [[backwards[i] for i in bucket] for bucket in assigned((nbytes[n] for n in backwards), full, full)]


def _try_buckets(buckets: list[list[str]], nbytes: Mapping[str, int]) -> list[int]:
    """In a rank: after how many gradients each bucket left, in the order in which they left."""
    params = {name: nn.Parameter(torch.full((size // 8,), 0.1, dtype=torch.float64)) for name, size in nbytes.items()}
    overlap = Overlap(params, buckets=[[params[name] for name in bucket] for bucket in buckets])
    x = torch.ones((), dtype=torch.float64)
    for p in params.values():
        x = (p * x).sum().tanh()
    x.backward()
    return overlap.finish()


def busiest_port(answer: Callable[[int, int], tuple[int, int, int]]) -> Answer:
    """answer(nranks, nbytes) -> bytes that leave in one step: from the server, from a worker, from a rank of an all_reduce.

    nbytes: of all gradients. The server is one of the nranks ranks.
    """
    praise = "What leaves each port, and why the server's grows with the ranks while that of the all_reduce does not."
    return judge([(4, 1024), (2, 512), (8, 2048)], lambda case: _ports(answer, *case), praise)


def _ports(answer: Callable, nranks: int, nbytes: int) -> None:
    """The server's and a worker's are what `helpers.parallel` predicts, and what tests count on ranks."""
    where = f"At {nranks} ranks and {nbytes} bytes"
    training = Training(MLP(nbytes // 512, 8), batch=nranks, steps=1)
    want = [int(server.predicted(training, nranks, rank).total) for rank in (0, 1)]
    want.append(2 * (nranks - 1) * nbytes // nranks)
    got = list(answer(nranks, nbytes))
    for who, mine, true in zip(("the server", "a worker", "a rank of the all_reduce"), got, want, strict=True):
        if mine != true:
            raise NotYetError(f"{where}: from {who} leave {true} bytes, not {mine}.")
