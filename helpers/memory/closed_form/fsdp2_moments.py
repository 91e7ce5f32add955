"""The moments of a step under torch's FSDP2, in closed form: what is gathered, what of the gradients is reduced and what is on its way.

fp32 shards of weights, gradients and the optimizer's numbers; computed in bf16, reduced in fp32. Units as torchtitan has them: the
embedding, each block, and norm and head together, which are not freed after forward; with tied weights the embedding is among those.
Written beside `helpers.measure.sharding`'s FSDP2, which a prediction runs through, and held against it (tests). Chapters: sharded, too-big.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from helpers.memory.closed_form.states import states as all_states
from helpers.memory.closed_form.temporaries import optimizer_temporaries
from helpers.memory.closed_form.terms import Operator, Term
from helpers.memory.closed_form.weights import RankWeights
from helpers.memory.sharding import Sharding, ShardingError

AROUND = ("forward", "loss")
HEAD, REDUCTION, TABLE, LAST = "reduction of the head", "reduction", "table", "last reduction"
FIRST = "first reduction"  # in a pipeline, once backwards are over
HEAD_DONE = "norm and head, done"  # there too
QUIET = (HEAD, REDUCTION, TABLE, LAST, FIRST)  # between what computes
COMPUTES = "bf16"  # what activations are counted in
GATHERED, REDUCED, SHARD = 2, 4, 4  # bytes of an element
Parts = Mapping[str, int]  # elements by what they belong to


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
    def places(self) -> dict[str, tuple[int, bool]]:
        """Moments of a block: (which one, is it done). Done, all its gradients are there, and what it was computed from is gone."""
        n = len(self.blocks)
        found: dict[str, tuple[int, bool]] = {}
        for word, i in {"last": n - 1, "last but one": n - 2, "second": 1, "first": 0}.items():
            if 0 <= i < n and (i, False) not in found.values():
                found |= {f"{word} block": (i, False), f"{word} block, done": (i, True)}
        return found

    @property
    def in_flight(self) -> int:
        """Micro-batches whose activations are here at the most."""
        return self.sharding.in_flight

    def moments(self) -> list[str]:
        """Those that this rank has: no loss before the last stage, and two gradients of one table only with tied weights."""
        around = AROUND if self.sharding.last else ()
        head = (HEAD,) if self.end and not self.tied else ()
        return [*around, *head, *self.places, REDUCTION, *((TABLE,) if self.tied else ()), LAST, "optimizer"]

    def blocks_held(self, name: str) -> int:
        """Blocks whose activations are there."""
        if name in self.places:
            i, done = self.places[name]
            return i + (not done)
        return {REDUCTION: len(self.blocks) - 1, TABLE: 0}.get(name, len(self.blocks))

    def gathered(self, name: str) -> Parts:
        """Whole weights, and buffers that weights arrive in. In backward a unit asks for the one that comes next."""
        if name in (LAST, "optimizer"):
            return {}
        root = {"norm and head": self.end} if self.tied or name in AROUND else {}
        if name == "forward":
            root |= {"the buffer that the last ones came in": self.blocks[-1] if self.tied else self.end}
        if self.sharding.zero == 2:
            left = self.places[name][0] + 1 if name in self.places else self.blocks_held(name)
            return root | {"blocks": sum(self.blocks[:left]), "embedding": self.first}
        here, ahead = self._pair(name)
        return root | {"a block": here, "what is asked for ahead": ahead}

    def made(self, name: str) -> int:
        """Elements whose gradient is reduced; a rank has its share of these. A large last tensor stays until its unit's part is made."""
        if name == "optimizer" or self.sharding.micro_batches > 1:
            return sum(self.held.units)
        end = 0 if self.tied or name in AROUND else self.end
        if name in self.places:
            return end + sum(self.blocks[self.places[name][0] + 1 :])
        done = {TABLE: sum(self.blocks), LAST: sum(self.blocks) + self.first}
        return end + done.get(name, 0)

    def whole(self, name: str) -> int:
        """Elements whose gradient is there and not reduced, in the type that computes."""
        if name in (*AROUND, "optimizer"):
            return 0
        table = self.end if self.tied else 0
        if name in self.places:
            i, done = self.places[name]
            return table + (self.blocks[i] if done else self.held.half)
        return table + {HEAD: self.end, REDUCTION: self.blocks[-1], TABLE: 2 * table, LAST: self.first}[name]

    def added(self, name: str) -> int:
        """Elements whose gradient is added up whole, in the type of the reduction; only a pipeline does so."""
        return 0

    def under_way(self, name: str) -> int:
        """Elements in the input of a reduction, which stays until the next one's."""
        end = 0 if self.tied else self.end
        if name in self.places:
            return (*self.blocks, end)[self.places[name][0] + 1]
        last = self.end if self.tied else self.first
        return {HEAD: end, REDUCTION: self.blocks[-1], TABLE: self.blocks[0], LAST: last}.get(name, 0)

    def _pair(self, name: str) -> tuple[int, int]:
        """(the block that is here, the unit that is asked for ahead), where blocks are freed after forward."""
        order = (self.first, *self.blocks)
        if name in self.places:
            i = self.places[name][0]
            return order[i + 1], order[i]
        return 0, {HEAD: order[-1], REDUCTION: order[-2]}.get(name, 0)


def states(name: str, units: Units, optimizer: str) -> Iterator[Term]:
    """Shards of weights, of the gradients that are reduced by then, and of what the optimizer keeps."""
    over = units.sharding.shards
    for term in all_states(units.held.units, "fsdp2", optimizer, 3, over):
        if term.cls != "gradient":
            yield term
        elif made := units.made(name):
            text = "this rank's rows of each gradient that is reduced"
            nbytes = SHARD * made // over
            yield Term(
                term.name,
                term.cls,
                term.formula,
                (Operator(term.name, text, ("P",), SHARD, over, nbytes, "torch-fsdp2"),),
                1,
                "torch-fsdp2",
            )


def moving(name: str, units: Units) -> Iterator[Term]:
    """Gathered weights, gradients that wait for their unit's reduction, and that reduction's input."""
    yield _whole("gathered weights", "communication", GATHERED, units.gathered(name))
    yield _whole("unreduced gradients", "gradient", GATHERED, {"what backward has made": units.whole(name)})
    yield _whole("gradients added up", "gradient", REDUCED, {"what micro-batches have made": units.added(name)})
    yield _whole(
        "gradients on their way", "communication", REDUCED, {"the input of a reduction": units.under_way(name)}
    )


def update(units: Units, optimizer: str) -> tuple[Operator, ...]:
    """The optimizer's temporaries: it goes over this rank's rows."""
    over = units.sharding.shards
    return optimizer_temporaries(
        optimizer, "fsdp2", sum(units.held.units) // over, *(n // over for n in units.held.largest())
    )


def _whole(name: str, cls: str, width: int, parts: Parts) -> Term:
    listed = tuple(
        Operator(text, "whole", ("P",), width, 1, width * n, "torch-fsdp2") for text, n in parts.items() if n
    )
    return Term(name, cls, f"{width} P of {' and '.join(op.name for op in listed)}", listed, 1, "torch-fsdp2")
