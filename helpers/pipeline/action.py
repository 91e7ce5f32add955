"""One thing that a rank of a pipeline does: compute, send or receive, for one stage and one microbatch. Chapter: pipeline.

Kinds and text are those of torch.distributed.pipelining, so "2F0" is stage 2's forward of microbatch 0 here and there:

F       forward
B       backward, whole
I       backward, the gradient of the stage's input only: what the stage before waits for
W       backward, the gradients of the stage's weights, after I; nobody waits for them before the step
SEND_F  the stage's output goes to the next stage, which has a RECV_F under its own number
SEND_B  the gradient of the stage's input goes to the stage before, which has a RECV_B under its own number

The paper on zero bubbles (arXiv 2401.10241) calls B what is I here.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, cast, get_args

from helpers.collectives import ScheduleError

Kind = Literal["F", "B", "I", "W", "SEND_F", "RECV_F", "SEND_B", "RECV_B"]
KINDS: tuple[Kind, ...] = get_args(Kind)
COMPUTE: tuple[Kind, ...] = ("F", "B", "I", "W")


class Action(NamedTuple):
    """What is done (a kind of the list above), for which stage, for which microbatch."""

    kind: Kind
    stage: int
    microbatch: int

    def __str__(self) -> str:
        return f"{self.stage}{self.kind}{self.microbatch}"

    @classmethod
    def parse(cls, text: str) -> Action:
        """The reverse of str: "2SEND_F0"."""
        found = re.fullmatch(r"(\d+)([A-Z_]+)(\d+)", text, re.ASCII)
        if not found or found[2] not in KINDS:
            raise ScheduleError(
                f'an action is written stage, kind, microbatch, as "2F0", with a kind of {", ".join(KINDS)}; got {text!r}'
            )
        return cls(cast(Kind, found[2]), int(found[1]), int(found[3]))

    @property
    def computes(self) -> bool:
        return self.kind in COMPUTE

    @property
    def neighbour(self) -> int:
        """Of a message: the stage at its other end. Of a forward or a backward: the stage that waits for it."""
        forward = self.kind in ("F", "SEND_F", "RECV_B")
        return self.stage + 1 if forward else self.stage - 1
