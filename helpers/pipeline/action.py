"""One thing that a rank of a pipeline does: compute, send or receive, or gather and free a stage's shards. Chapter: pipeline.

Kinds and text are those of torch.distributed.pipelining, so "2F0" is stage 2's forward of microbatch 0 here and there, and "2UNSHARD"
gathers stage 2. What is true of a kind stands in its row of KINDS, and nowhere else. The paper on zero bubbles (arXiv 2401.10241) calls
B what is I here.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from helpers.collectives import ScheduleError


class Kind(NamedTuple):
    """deed: in words. needs: (kind, how many stages on) of what it takes, for the same microbatch. to: how many stages on its result
    goes, or the other end of a message is. sends: the message that carries the result to another rank. takes: parts of `Times`, where
    it computes. holds: what it adds to the microbatches held for their backward, and to those held for their weights alone. does: other
    kinds that are done with it.
    """

    deed: str
    needs: tuple[tuple[str, int], ...] = ()
    to: int = 0
    sends: str = ""
    takes: tuple[str, ...] = ()
    holds: tuple[int, int] = (0, 0)
    does: tuple[str, ...] = ()


KINDS = {
    "F": Kind("forward", (("F", -1),), +1, "SEND_F", ("forward",), (1, 0)),
    "B": Kind("backward", (("F", 0), ("I", +1)), -1, "SEND_B", ("input", "weight"), (-1, 0), ("I", "W")),
    # What the stage before waits for; the weights' part comes after it, and nobody waits for that before the step.
    "I": Kind("the input's gradient", (("F", 0), ("I", +1)), -1, "SEND_B", ("input",), (-1, 1)),
    "W": Kind("the weights' gradient", (("I", 0),), takes=("weight",), holds=(0, -1)),
    # A send has a receive of the stage at its other end.
    "SEND_F": Kind("the output goes to the next stage", (("F", 0),), +1),
    "RECV_F": Kind("the output of the stage before comes", to=-1),
    "SEND_B": Kind("the input's gradient goes to the stage before", (("I", 0),), -1),
    "RECV_B": Kind("the gradient comes from the next stage", to=+1),
    # Of a stage whose parameters are sharded (FSDP), without a microbatch.
    "UNSHARD": Kind("its parameters are gathered"),
    "RESHARD": Kind("what was gathered is freed"),
    "REDUCE_GRAD": Kind("its gradients, added up over the microbatches, are reduced"),
}
SHARDS = ("UNSHARD", "RESHARD", "REDUCE_GRAD")


class Action(NamedTuple):
    """What is done (a kind of KINDS), for which stage, for which microbatch; None for what is done for all of them (SHARDS)."""

    kind: str
    stage: int
    microbatch: int | None = None

    def __str__(self) -> str:
        return f"{self.stage}{self.kind}{'' if self.microbatch is None else self.microbatch}"

    @classmethod
    def parse(cls, text: str) -> Action:
        """The reverse of str: "2SEND_F0"."""
        found = re.fullmatch(r"(\d+)([A-Z_]+)(\d*)", text, re.ASCII)
        if not found or found[2] not in KINDS or (found[2] in SHARDS) == bool(found[3]):
            raise ScheduleError(
                f'an action is written stage, kind, microbatch, as "2F0", with a kind of {", ".join(KINDS)}'
                f" (the last {len(SHARDS)} without a microbatch); got {text!r}"
            )
        return cls(found[2], int(found[1]), int(found[3]) if found[3] else None)

    @property
    def computes(self) -> bool:
        return bool(KINDS[self.kind].takes)

    @property
    def neighbour(self) -> int:
        """Of a message: the stage at its other end. Of a forward or a backward: the stage that waits for it."""
        return self.stage + KINDS[self.kind].to
