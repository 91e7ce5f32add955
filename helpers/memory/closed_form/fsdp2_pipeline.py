"""FSDP2's moments in a pipeline, as torch.distributed.pipelining runs it: no backward reduces, the last one ends with all reductions.

Gradients of several micro-batches are added up whole, in fp32, and what a backward has gathered stays. Where blocks are freed after
forward, the next micro-batch's forward frees them again. The reductions at the end are those of torch 2.11 to 2.14; 2.15 holds other
gradients in them, so that a peak which lies there is told up to an eighth too high or a twentieth too low (tests). Written beside
`helpers.measure.sharding.fsdp2`, and held against it (tests). Chapters: sharded, pipeline, too-big.
"""

from __future__ import annotations

from dataclasses import dataclass

from .fsdp2_moments import Moment, Parts, Units, going


@dataclass(frozen=True)
class Piped(Units):
    """A stage's units while one micro-batch is in backward. later: another one has been before, so gradients of all units are there."""

    later: bool = False

    @property
    def alone(self) -> bool:
        """No forward came in between: so nothing was freed, and no micro-batch took the place of the one that left."""
        return self.later and self.sharding.micro_batches == self.sharding.in_flight

    @property
    def in_flight(self) -> int:
        """In the first backward as many as the stage ever has; in a later one as many, if another forward came in between."""
        return self.sharding.in_flight - self.alone

    @property
    def order(self) -> tuple[int, ...]:
        """Elements of every unit, in the order of forward and of the reductions."""
        return tuple(unit for unit in (self.first, *self.blocks, self.end) if unit)

    def moments(self) -> dict[str, Moment]:
        """Of this backward; with the first one what comes after the last one."""
        n, blocks, end, everything = len(self.blocks), self.blocks, self.end, sum(self.order)
        sums, found = everything if self.later else 0, {}
        if end:
            found["forward"] = Moment("forward", n, self._kept(self._at_its_end()), added=sums)
            found["loss"] = Moment("loss", n, self._kept(self._around()), added=sums)
            found["norm and head, done"] = Moment("head", n, self._left(n), 0, end, sums or end)
        for name, i, done in self.places:  # the first one's gradient is copied tensor by tensor: of a block one is left
            whole, added = blocks[i] if done and self.later else self.held.half, end + sum(blocks[i + (not done) :])
            found[name] = Moment("" if done else "mlp", i + (not done), self._left(i), 0, whole, sums or added)
        if self.first:
            found["embedding, done"] = Moment("", 0, {"all units": everything}, 0, self.first, everything)
        return found if self.later else found | self._reductions(everything)

    def _reductions(self, everything: int) -> dict[str, Moment]:
        """Once backwards are over. A block's tensors are gone before its part is there, a table is not."""
        first, *_, last = *self.order, 0, self.order[-1]
        rest = {"all units": everything - first}
        return {
            "first reduction": Moment("", None, rest, self.first, 0, everything, going(first)),
            "last reduction": Moment(
                "", None, made=everything - (0 if self.end else last), added=last, under_way=going(last)
            ),
            "optimizer": Moment("optimizer", None, made=everything),
        }

    def _kept(self, first: Parts) -> Parts:
        """When the loss is there: all that an earlier backward has gathered; `first`, if none has been before. The head is gone with it."""
        if self.alone or (self.sharding.zero == 2 and self.later):
            return {"all units": sum(self.order)}
        return first if self.sharding.zero == 2 else {}

    def _left(self, i: int) -> Parts:
        """In backward, down to the i-th block; behind the last one, to norm and head."""
        if self.alone or self.sharding.zero == 2:
            return {"all units": sum(self.order)}
        ahead = (self.first, *self.blocks)[i]
        return {"norm and head": self.end, "blocks": sum(self.blocks[i:]), "what is asked for ahead": ahead}
