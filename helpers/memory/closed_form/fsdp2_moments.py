"""The moments of a step under torch's FSDP2, in closed form: what is gathered, what of the gradients is reduced and what is on its way.

fp32 shards of weights, gradients and the optimizer's numbers; computed in bf16, reduced in fp32. Units as torchtitan has them: the
embedding, each block, and norm and head together, which are not freed after forward; with tied weights the embedding is among those.
Written beside `helpers.measure.sharding`'s FSDP2, which a prediction runs through, and held against it (tests). Chapters: sharded, too-big.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from helpers.memory.closed_form.states import states as all_states
from helpers.memory.closed_form.temporaries import optimizer_temporaries
from helpers.memory.closed_form.terms import Operator, Term
from helpers.memory.closed_form.weights import RankWeights
from helpers.memory.sharding import Sharding, ShardingError

COMPUTES = "bf16"  # what activations are counted in
GATHERED, REDUCED, SHARD = 2, 4, 4  # bytes of an element
Parts = dict[str, int]  # elements by what they belong to
NOTHING: Parts = {}
MADE = "what backward has made"


class Moment(NamedTuple):
    """A moment of a step, as data.

    computes: what makes temporaries: "forward", "loss", "head", "mlp" (its backward), "optimizer", or "" between these. blocks: how many
    hold this micro-batch's activations, None where no micro-batch has any. The rest is in elements. gathered: whole weights, and
    buffers that weights arrive in. made: whose gradient is reduced; a rank has its share of these. whole: whose gradient is there and not
    reduced, in the type that computes; added: in that of the reduction, from several micro-batches. under_way: the input of a reduction,
    which stays until the next one's. cast: copies of autocast's.
    """

    computes: str
    blocks: int | None
    gathered: Parts = NOTHING
    made: int = 0
    whole: int = 0
    added: int = 0
    under_way: Parts = NOTHING
    cast: int = 0

    @property
    def around(self) -> bool:
        """Is no block in its backward, so that what lies around the blocks holds activations, too?"""
        return self.computes in ("forward", "loss")


@dataclass(frozen=True)
class Units:
    """A rank's units, in elements before they are cut: what every moment is a sum of. blocks: of each block here."""

    held: RankWeights
    sharding: Sharding

    def __post_init__(self) -> None:
        if self.sharding.zero not in (2, 3):
            raise ShardingError(f"FSDP2 shards: zero is 3, or 2 to keep what was gathered, got {self.sharding.zero}")

    @cached_property
    def tied(self) -> bool:
        return self.held.model.tied and self.sharding.first and self.sharding.last

    @cached_property
    def blocks(self) -> tuple[int, ...]:
        return self.held.units[: len(self.held.layers)]

    @cached_property
    def first(self) -> int:
        """The embedding, where it is a unit of its own."""
        return 0 if self.tied else sum(self.held.units) - sum(self.blocks) - self.end

    @cached_property
    def end(self) -> int:
        """Norm and head; with tied weights also the table that both read."""
        return sum(self.held.units) - sum(self.blocks) if self.tied else self.held.ending

    @cached_property
    def places(self) -> list[tuple[str, int, bool]]:
        """Moments of a block: (name, which one, is it done). Done, all its gradients are there, and what it was computed from is gone."""
        n = len(self.blocks)
        found: dict[int, str] = {}
        for word, i in {"last": n - 1, "last but one": n - 2, "second": 1, "first": 0}.items():
            if 0 <= i < n:
                found.setdefault(i, word)
        return [(f"{word} block{done}", i, bool(done)) for i, word in found.items() for done in ("", ", done")]

    @property
    def in_flight(self) -> int:
        """Micro-batches whose activations are here at the most."""
        return self.sharding.in_flight

    def moments(self) -> dict[str, Moment]:
        """In turn; two gradients of one table only with tied weights."""
        n, blocks, end = len(self.blocks), self.blocks, 0 if self.tied else self.end
        table = self.end if self.tied else 0
        found = {"forward": Moment("forward", n, self._at_its_end()), "loss": Moment("loss", n, self._around())}
        if end:
            found["reduction of the head"] = Moment("", n, self._here(n, 0, n), end, end, 0, going(end))
        for name, i, done in self.places:
            whole, under_way = table + (blocks[i] if done else self.held.half), going((*blocks, end)[i + 1])
            here, made = self._here(i + 1, blocks[i], i), end + sum(blocks[i + 1 :])
            found[name] = Moment("" if done else "mlp", i + (not done), here, made, whole, 0, under_way)
        found["reduction"] = Moment(
            "", n - 1, self._here(n - 1, 0, n - 1), end, table + blocks[-1], 0, going(blocks[-1])
        )
        if table:
            found["table"] = Moment("", 0, self._here(0, 0, None), sum(blocks), 3 * table, 0, going(blocks[0]))
        last, total = self.first + table, sum(self.held.units)
        found["last reduction"] = Moment("", None, NOTHING, total - table, last, 0, going(last))
        found["optimizer"] = Moment("optimizer", None, made=total)
        if self.sharding.micro_batches > 1:
            return {name: one._replace(made=total) for name, one in found.items()}
        return found

    def _around(self, buffer: int = 0) -> Parts:
        """When the loss is there: norm and head, and what is not freed after forward."""
        root = {"norm and head": self.end, "the buffer that the last ones came in": buffer}
        return root | self._here(len(self.blocks), 0, None)

    def _at_its_end(self) -> Parts:
        """When forward ends."""
        return self._around(self.blocks[-1] if self.tied else self.end)

    def _here(self, left: int, here: int, ahead: int | None) -> Parts:
        """Where so many blocks are not through: all of these, or what is here and, of all units in order, the one that is asked for."""
        root = {"norm and head": self.end} if self.tied else {}
        if self.sharding.zero == 2:
            return root | {"blocks": sum(self.blocks[:left]), "embedding": self.first}
        asked = 0 if ahead is None else (self.first, *self.blocks)[ahead]
        return root | {"a block": here, "what is asked for ahead": asked}


def states(moment: Moment, units: Units, optimizer: str) -> Iterator[Term]:
    """Shards of weights, of the gradients that are reduced by then, and of what the optimizer keeps."""
    over = units.sharding.shards
    for term in all_states(units.held.units, "fsdp2", optimizer, 3, over):
        if term.cls != "gradient":
            yield term
        elif moment.made:
            text, nbytes = "this rank's rows of each gradient that is reduced", SHARD * moment.made // over
            listed = (Operator(term.name, text, ("P",), SHARD, over, nbytes, "torch-fsdp2"),)
            yield Term(term.name, term.cls, term.formula, listed, 1, "torch-fsdp2")


def moving(moment: Moment) -> Iterator[Term]:
    """Gathered weights, gradients that wait for their unit's reduction, and that reduction's input."""
    yield whole("gathered weights", "communication", GATHERED, moment.gathered, "torch-fsdp2")
    yield whole("unreduced gradients", "gradient", GATHERED, {MADE: moment.whole}, "torch-fsdp2")
    yield whole(
        "gradients added up", "gradient", REDUCED, {"what micro-batches have made": moment.added}, "torch-fsdp2"
    )
    yield whole("gradients on their way", "communication", REDUCED, moment.under_way, "torch-fsdp2")


def update(units: Units, optimizer: str) -> tuple[Operator, ...]:
    """The optimizer's temporaries: it goes over this rank's rows."""
    over = units.sharding.shards
    return optimizer_temporaries(
        optimizer, "fsdp2", sum(units.held.units) // over, *(n // over for n in units.held.largest())
    )


def going(numel: int) -> Parts:
    """Gradients of so many elements are on their way."""
    return {"the input of a reduction": numel}


def whole(name: str, cls: str, width: int, parts: Parts, source: str) -> Term:
    """Of what is not shared out, so many elements of `width` bytes each."""
    listed = tuple(Operator(text, "whole", ("P",), width, 1, width * n, source) for text, n in parts.items() if n)
    return Term(name, cls, f"{width} P of {' and '.join(op.name for op in listed)}", listed, 1, source)
