"""FSDP2's moments in a pipeline, as torch.distributed.pipelining runs it: no backward reduces, the last one ends with all reductions.

Gradients of several micro-batches are added up whole, in fp32, and what a backward has gathered stays. Where blocks are freed after
forward, the next micro-batch's forward frees them again. Written beside `helpers.measure.sharding.fsdp2`, and held against it
(tests). Chapters: sharded, pipeline, too-big.
"""

from __future__ import annotations

from dataclasses import dataclass

from .fsdp2_moments import AROUND, FIRST, HEAD_DONE, LAST, Parts, Units

EMBEDDING_DONE = "embedding, done"


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

    def moments(self) -> list[str]:
        """Of this backward; with the first one what comes after the last one."""
        around = (*AROUND, HEAD_DONE) if self.end else ()
        last = (EMBEDDING_DONE,) if self.first else ()
        return [*around, *self.places, *last, *(() if self.later else (FIRST, LAST, "optimizer"))]

    def blocks_held(self, name: str) -> int:
        """Of the micro-batch that is in backward."""
        return 0 if name == EMBEDDING_DONE else super().blocks_held(name)

    def gathered(self, name: str) -> Parts:
        """Whole weights, and buffers that weights arrive in."""
        if name in (LAST, "optimizer"):
            return {}
        stays = self.alone or (self.sharding.zero == 2 and (self.later or name not in AROUND))
        if stays or name in (FIRST, EMBEDDING_DONE):
            return {"all units": sum(self.order) - (self.order[0] if name == FIRST else 0)}
        if self.sharding.zero == 2:
            return super().gathered(name)
        if name in AROUND:  # the head is gone with its forward
            return {}
        i = self.places[name][0] if name in self.places else len(self.blocks)
        ahead = (self.first, *self.blocks)[i]
        return {"norm and head": self.end, "blocks": sum(self.blocks[i:]), "what is asked for ahead": ahead}

    def made(self, name: str) -> int:
        """Elements whose gradient is reduced."""
        everything = sum(self.order)
        last = 0 if self.end else self.order[-1]  # a block's tensors are gone before its part is there, a table is not
        return {FIRST: self.first, LAST: everything - last, "optimizer": everything}.get(name, 0)

    def whole(self, name: str) -> int:
        """Elements whose gradient is this micro-batch's alone. The first one's is copied tensor by tensor: of a block one is left."""
        if name in self.places:
            i, done = self.places[name]
            return self.blocks[i] if done and self.later else self.held.half
        return {HEAD_DONE: self.end, EMBEDDING_DONE: self.first}.get(name, 0)

    def added(self, name: str) -> int:
        """Elements whose gradient is added up."""
        if name in (LAST, "optimizer"):
            return self.order[-1] if name == LAST else 0
        if self.later or name in (FIRST, EMBEDDING_DONE):
            return sum(self.order)
        if name in self.places:
            i, done = self.places[name]
            return self.end + sum(self.blocks[i + (not done) :])
        return self.end if name == HEAD_DONE else 0

    def under_way(self, name: str) -> int:
        """Elements in the input of a reduction."""
        return {FIRST: self.order[0], LAST: self.order[-1]}.get(name, 0)
