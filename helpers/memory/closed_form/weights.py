"""Which weights stand on one rank: the list of a model's matrices, and who has which part of them.

Tensor parallelism as in Megatron: projections into the heads and into the MLP by columns, out of them by rows, the tables by vocabulary,
norms whole. Experts are dealt out whole; the router is everywhere. Chapters: too-big, tensor-parallel, expert.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from helpers.facts import Model
from helpers.memory.closed_form.terms import FormError, shared, whole

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
class Rank:
    """One rank's place. tensor, expert: how many share a matrix, or the experts; pipeline stages, of which this is `stage`."""

    tensor: int = 1
    pipeline: int = 1
    stage: int = 0
    expert: int = 1

    def __post_init__(self) -> None:
        whole(tensor=self.tensor, pipeline=self.pipeline, expert=self.expert)
        whole(0, stage=self.stage)
        if self.stage >= self.pipeline:
            raise FormError(f"stage must be one of 0 to {self.pipeline - 1}, got {self.stage}")

    @property
    def first(self) -> bool:
        return self.stage == 0

    @property
    def last(self) -> bool:
        return self.stage == self.pipeline - 1

    def layers(self, model: Model) -> range:
        """The layers that stand here. FormError unless the stages share them evenly."""
        if model.layers % self.pipeline:
            raise FormError(
                f"pipeline={self.pipeline} stages cannot share {model.layers} layers of {model.name} evenly"
            )
        each = model.layers // self.pipeline
        return range(self.stage * each, (self.stage + 1) * each)

    def units(self, model: Model) -> tuple[int, ...]:
        """Parameters of each block on this rank, and of all the rest if there is any; what ZeRO moves together."""
        self._check(model)
        outside = (first_weights(model) if self.first else ()) + self._end(model)
        rest = self._count(outside)
        return (*self._blocks(model), *((rest,) if rest else ()))

    def _blocks(self, model: Model) -> list[int]:
        """Parameters of each block here."""
        each = [self._count(block_weights(model, dense)) for dense in (False, True)]
        return [each[layer < model.dense] for layer in self.layers(model)]

    def made(self, model: Model, name: str) -> int:
        """Parameters whose gradient is there at that moment: halfway through a block's MLP, or all of the last block's."""
        if name in ("forward", "loss"):
            return 0
        tied = model.tied and self.first and self.last
        end = 0 if tied else self._count(self._end(model))
        here = self.layers(model)
        last = block_weights(model, here[-1] < model.dense)
        experts = tuple(weight for weight in last if weight.split == EXPERT)
        half = self._count(experts) or max(numel for numel, _ in self._here(last))
        if name == "last reduction":
            return sum(self.units(model)[len(here) :])
        table = self._count(first_weights(model)[:1]) if tied else 0
        if name == "reduction":
            return end + table + self._count(last)
        if name == "last block":
            return end + table + half
        others = sum(self._blocks(model)[1:])
        return end + table + others + half

    def multiplied(self, model: Model) -> tuple[int, int, int]:
        """Parameters that a matrix multiplication reads, as autocast casts them: of all blocks, of one block, of the head."""
        here = [block_weights(model, layer < model.dense) for layer in self.layers(model)]
        blocks = [self._count(tuple(weight for weight in part if weight.name != "norm")) for part in here]
        table = (first_weights(model) if model.tied else last_weights(model)[1:])[:1]
        return sum(blocks), max(blocks), self._count(table) if self.last else 0

    def _end(self, model: Model) -> tuple[Weight, ...]:
        """What stands after the blocks here; a tied head in a stage of its own is a second copy of the table."""
        if not self.last:
            return ()
        return last_weights(model) + (first_weights(model)[:1] if model.tied and not self.first else ())

    def _count(self, part: tuple[Weight, ...]) -> int:
        return sum(numel * times for numel, times in self._here(part))

    def largest(self, model: Model) -> tuple[int, int]:
        """Elements of the largest parameter here outside the blocks, and of the largest inside one."""
        here = self.layers(model)
        inside = [block_weights(model, layer < model.dense) for layer in {here[0], here[-1]}]
        outside = ([first_weights(model)] if self.first else []) + ([last_weights(model)] if self.last else [])
        far, near = (max((n for part in parts for n, _ in self._here(part)), default=0) for parts in (outside, inside))
        return far, near

    def _here(self, part: tuple[Weight, ...]) -> Iterator[tuple[int, int]]:
        return (weight.here(self.tensor, self.expert) for weight in part)

    def _check(self, model: Model) -> None:
        if self.expert > 1 and (not model.experts or model.experts % self.expert):
            raise FormError(f"expert={self.expert} ranks cannot share {model.experts} experts of {model.name} evenly")
        if self.tensor > 1 and model.latent:
            raise FormError(f"{model.name}: how tensor parallelism splits latent attention is not listed here")
