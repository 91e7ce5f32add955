"""Which weights stand on one rank: the list of a model's matrices, and who has which part of them.

Tensor parallelism as in Megatron: projections into the heads and into the MLP by columns, out of them by rows, the tables by vocabulary,
norms whole. Experts are dealt out whole; the router is everywhere. Chapters: too-big, tensor-parallel, expert.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from helpers.facts import Model
from helpers.memory.closed_form.terms import FormError, shared
from helpers.memory.sharding import ALONE, Sharding

COLUMNS, ROWS, TABLE, WHOLE, EXPERT = "columns", "rows", "table", "whole", "expert"


@dataclass(frozen=True)
class Weight:
    """A parameter tensor that a block (or the model's end) has `times` times. numel: of one of them, before any split."""

    name: str
    numel: int
    split: str
    times: int = 1

    def here(self, tensor: int = 1, expert: int = 1) -> tuple[int, int]:
        """(elements of one, how many) on one rank."""
        over = 1 if self.split == WHOLE else tensor
        times = self.times // expert if self.split == EXPERT else self.times
        return shared(self.numel, over), times


def block_weights(model: Model, dense: bool = False) -> tuple[Weight, ...]:
    """Of one layer; dense: one of the first layers of a mixture that have a plain MLP. They add up to model.layer_nparams()."""
    norms = Weight("norm", model.hidden, WHOLE, 2 * model.norm_nparams // model.hidden)
    return (*_attention(model), norms, *_mlp(model, dense))


def _attention(model: Model) -> Iterator[Weight]:
    if model.latent:
        yield Weight("latent attention", model.attention_nparams, WHOLE)
        return
    wide, narrow = model.heads * model.head_dim, model.kv_hidden
    yield Weight("queries", model.hidden * wide, COLUMNS)
    yield Weight("keys and values", model.hidden * narrow, COLUMNS, 2)
    yield Weight("output", wide * model.hidden, ROWS)
    if model.bias:
        yield Weight("query bias", wide, COLUMNS)
        yield Weight("key and value bias", narrow, COLUMNS, 2)
        yield Weight("output bias", model.hidden, WHOLE)


def _mlp(model: Model, dense: bool) -> Iterator[Weight]:
    ffn = model.dense_ffn if dense else model.ffn
    matrices = 3 if model.mlp == "swiglu" else 2
    if model.experts and not dense:
        yield Weight("router", model.experts * model.hidden, WHOLE)
        yield Weight("expert", model.hidden * ffn, EXPERT, matrices * model.experts)
        if model.shared:
            yield Weight("shared expert", model.hidden * ffn, COLUMNS, matrices * model.shared)
        return
    yield Weight("MLP", model.hidden * ffn, COLUMNS, matrices)
    if model.bias and model.mlp == "gelu":
        yield Weight("up bias", ffn, COLUMNS)
        yield Weight("down bias", model.hidden, WHOLE)


def first_weights(model: Model) -> tuple[Weight, ...]:
    """Before the first block."""
    tables = (Weight("embedding", model.vocab * model.hidden, TABLE),)
    learned = (Weight("positions", model.context * model.hidden, WHOLE),) if model.positions == "learned" else ()
    return tables + learned


def last_weights(model: Model) -> tuple[Weight, ...]:
    """After the last block; a tied head is the embedding, and is not counted again."""
    norm = Weight("final norm", model.hidden, WHOLE, model.norm_nparams // model.hidden)
    return (norm,) if model.tied else (norm, Weight("head", model.vocab * model.hidden, TABLE))


@dataclass(frozen=True)
class RankWeights:
    """The weights of a model that stand on one rank. FormError and ShardingError for a split that is not listed here."""

    model: Model
    sharding: Sharding = ALONE

    def __post_init__(self) -> None:
        self.sharding.closed()
        if self.sharding.tensor > 1 and self.model.latent:
            raise FormError(f"{self.model.name}: how tensor parallelism splits latent attention is not listed here")

    @property
    def layers(self) -> range:
        """Which blocks stand here."""
        return self.sharding.layers(self.model)

    @cached_property
    def units(self) -> tuple[int, ...]:
        """Parameters of each block on this rank, and of all the rest if there is any; what ZeRO moves together."""
        outside = (first_weights(self.model) if self.sharding.first else ()) + self._end()
        rest = self._count(outside)
        return (*self._blocks(), *((rest,) if rest else ()))

    def _blocks(self) -> list[int]:
        """Parameters of each block here."""
        each = [self._count(block_weights(self.model, dense)) for dense in (False, True)]
        return [each[layer < self.model.dense] for layer in self.layers]

    @property
    def made(self) -> tuple[int, int, int, int]:
        """Parameters whose gradient is there: halfway through the last block's MLP, through the first one's; all of the last block's; and
        those outside of blocks."""
        tied = self.model.tied and self.sharding.first and self.sharding.last
        end = self._count(first_weights(self.model)[:1]) if tied else self.ending
        last = self._count(block_weights(self.model, self.layers[-1] < self.model.dense))
        outside = sum(self.units[len(self.layers) :])
        return end + self.half, end + sum(self._blocks()[1:]) + self.half, end + last, outside

    @property
    def ending(self) -> int:
        """Parameters behind the blocks here."""
        return self._count(self._end())

    @property
    def half(self) -> int:
        """Parameters of the last block whose gradients are there halfway through its MLP: the experts', or the largest matrix's."""
        last = block_weights(self.model, self.layers[-1] < self.model.dense)
        experts = tuple(weight for weight in last if weight.split == EXPERT)
        return self._count(experts) or max(numel for numel, _ in self._here(last))

    def multiplied(self) -> tuple[int, int, int]:
        """Parameters that a matrix multiplication reads, as autocast casts them: of all blocks, of one block, of the head."""
        here = [block_weights(self.model, layer < self.model.dense) for layer in self.layers]
        blocks = [self._count(tuple(weight for weight in part if weight.name != "norm")) for part in here]
        table = (first_weights(self.model) if self.model.tied else last_weights(self.model)[1:])[:1]
        return sum(blocks), max(blocks), self._count(table) if self.sharding.last else 0

    def tensors(self) -> Iterator[tuple[int, str]]:
        """(elements, how it is split) of every parameter tensor here, in the order of forward."""
        blocks = (block_weights(self.model, layer < self.model.dense) for layer in self.layers)
        for part in (first_weights(self.model) if self.sharding.first else (), *blocks, self._end()):
            for weight, (numel, times) in zip(part, self._here(part), strict=True):
                yield from ((numel, weight.split) for _ in range(times))

    def _end(self) -> tuple[Weight, ...]:
        """What stands after the blocks here; a tied head in a stage of its own is a second copy of the table."""
        if not self.sharding.last:
            return ()
        copied = self.model.tied and not self.sharding.first
        return last_weights(self.model) + (first_weights(self.model)[:1] if copied else ())

    def _count(self, part: tuple[Weight, ...]) -> int:
        return sum(numel * times for numel, times in self._here(part))

    def largest(self) -> tuple[int, int]:
        """Elements of the largest parameter here outside the blocks, and of the largest inside one."""
        here = self.layers
        inside = [block_weights(self.model, layer < self.model.dense) for layer in {here[0], here[-1]}]
        outside = [first_weights(self.model)] if self.sharding.first else []
        outside += [last_weights(self.model)] if self.sharding.last else []
        far, near = (max((n for part in parts for n, _ in self._here(part)), default=0) for parts in (outside, inside))
        return far, near

    def _here(self, part: tuple[Weight, ...]) -> Iterator[tuple[int, int]]:
        return (weight.here(self.sharding.tensor, self.sharding.expert) for weight in part)
