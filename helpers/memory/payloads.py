"""Which messages a training step sends, and how large they are: buckets, shards, activations. Chapters: benchmarking, too-big.

Sizes are nccl-tests' sizes, the larger of one rank's input and output, so that a row of a benchmark can be looked up by them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from helpers.facts import MODELS, Model
from helpers.memory.closed_form.weights import Weight, block_weights, first_weights, last_weights
from helpers.units import MIB, nbytes_text

FIRST, REST = MIB, 25 * MIB  # DistributedDataParallel's own where no cap is given (facts ddp.bucket)


class Payload(NamedTuple):
    """One kind of message. by: who sends it; what: it is; times: in one step of one rank, on one micro-batch."""

    by: str
    what: str
    collective: str
    nbytes: int
    times: int

    def __str__(self) -> str:
        return f"{self.by:<18}{self.what:<38}{self.collective:<16}{self.nbytes:>14}{nbytes_text(self.nbytes):>12}{self.times:>7}"


def assigned(nbytes: Iterable[int], first: int = FIRST, rest: int = REST) -> list[list[int]]:
    """Which gradients share one of DDP's buckets, as places in `nbytes`: bytes of each, in the order in which backward makes them.

    A bucket is full as soon as it holds its limit or more (torch/csrc/distributed/c10d/reducer.cpp).
    """
    buckets: list[list[int]] = [[]]
    filled = 0
    for place, one in enumerate(nbytes):
        buckets[-1].append(place)
        filled += one
        if filled >= (rest if len(buckets) > 1 else first):
            buckets.append([])
            filled = 0
    return [bucket for bucket in buckets if bucket]


def bucket_sizes(nbytes: Iterable[int], first: int = FIRST, rest: int = REST) -> list[int]:
    """Bytes of each bucket; see `assigned`."""
    sizes = list(nbytes)
    return [sum(sizes[place] for place in bucket) for bucket in assigned(sizes, first, rest)]


def payloads(model: Model | str, batch: int = 1, seq: int | None = None, dtype_bytes: int = 2) -> tuple[Payload, ...]:
    """What each kind of parallelism sends of this model in a step, each by itself, whatever the number of its ranks.

    batch: sequences of one micro-batch; seq: tokens of each, the model's context by default; dtype_bytes: of weights, gradients and
    activations alike. DDP's buckets are those of the list of tensors in helpers.memory.closed_form.weights, last ones first. FSDP gathers
    a block in forward and again in backward, and what stands outside the blocks once. Tensor parallelism is Megatron's: an all_reduce
    behind attention and behind the MLP, and as many in backward. ValueError for a model that is not known, and for counts below 1.
    """
    known = known_model(model)
    seq = known.context if seq is None else seq
    for name, value in (("batch", batch), ("seq", seq), ("dtype_bytes", dtype_bytes)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} is a whole number of at least 1, got {value!r}")
    tokens = batch * seq * known.hidden * dtype_bytes
    return (*_buckets(known, dtype_bytes), *_shards(known, dtype_bytes), *_activations(known, tokens))


def known_model(model: Model | str) -> Model:
    """A model of helpers.facts by its name, in any case. ValueError naming those there are."""
    if isinstance(model, Model):
        return model
    named = {name.lower(): found for name, found in MODELS.items()}
    if not isinstance(model, str) or model.lower() not in named:
        raise ValueError(f"no model {model!r}: there is {', '.join(MODELS)}")
    return named[model.lower()]


def _tensors(model: Model) -> Iterator[Weight]:
    """In the order of forward."""
    yield from first_weights(model)
    for layer in range(model.layers):
        yield from block_weights(model, layer < model.dense)
    yield from last_weights(model)


def _buckets(model: Model, width: int) -> Iterator[Payload]:
    """The same size counted together, the most frequent first."""
    if model.latent:  # its attention is listed as one tensor, which buckets would take whole
        return
    gradients = [weight.numel * width for weight in _tensors(model) for _ in range(weight.times)]
    for nbytes, times in Counter(bucket_sizes(reversed(gradients))).most_common():
        yield Payload("DDP", "a bucket of gradients", "all_reduce", nbytes, times)


def _shards(model: Model, width: int) -> Iterator[Payload]:
    outside = sum(weight.numel * weight.times for weight in (*first_weights(model), *last_weights(model))) * width
    blocks = Counter(model.layer_nparams(dense=layer < model.dense) * width for layer in range(model.layers))
    for nbytes, times in blocks.items():
        yield Payload("FSDP (ZeRO-3)", "a block's weights, twice", "all_gather", nbytes, 2 * times)
        yield Payload("FSDP (ZeRO-3)", "a block's gradients", "reduce_scatter", nbytes, times)
    yield Payload("FSDP (ZeRO-3)", "the rest's weights", "all_gather", outside, 1)
    yield Payload("FSDP (ZeRO-3)", "the rest's gradients", "reduce_scatter", outside, 1)


def _activations(model: Model, tokens: int) -> Iterator[Payload]:
    """tokens: bytes of one micro-batch's activations between two layers."""
    yield Payload("tensor parallel", "activations, 4 a layer", "all_reduce", tokens, 4 * model.layers)
    yield Payload("pipeline", "activations, then their gradients", "send_recv", tokens, 2)
    if model.experts:
        sparse = model.layers - model.dense
        yield Payload(
            "expert parallel", "tokens there and back, 4 a layer", "all_to_all", tokens * model.active, 4 * sparse
        )
