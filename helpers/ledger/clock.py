"""How long a step takes, part by part, and what follows: tokens a second, MFU, what binds. Chapters: sharded, meshes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from helpers.ledger.flops import Flops
from helpers.units import seconds_text

Key = tuple[str, str]  # axis, level


@dataclass(frozen=True)
class Clock:
    """Seconds of a step on the rank that has most to do. Its parts add up to `seconds`.

    tokens: of a step, of all `gpus` together; counted: its FLOPs; peak: FLOP/s of one GPU, the datasheet's. compute: products.
    exposed: of messages, by (axis, level), what the step is longer by; communication: how long they last. waits: for other stages of
    the pipeline, and messages between them. update: the optimizer's.
    """

    tokens: int
    gpus: int
    counted: Flops
    peak: float
    compute: float
    exposed: Mapping[Key, float]
    communication: Mapping[Key, float]
    waits: float
    update: float

    @property
    def seconds(self) -> float:
        return self.compute + sum(self.exposed.values()) + self.waits + self.update

    @property
    def hidden(self) -> float:
        """Seconds of messages that cost the step nothing; those between stages are in `waits`."""
        return sum(seconds - self.exposed[key] for key, seconds in self.communication.items())

    @property
    def share_hidden(self) -> float:
        """Of all messages but those between stages; 1 where there are none."""
        whole = sum(self.communication.values())
        return self.hidden / whole if whole else 1.0

    @property
    def parts(self) -> dict[str, float]:
        """Seconds by what a step is spent on: "compute", exposed messages in a "node" and over the "network", "bubble", "update"."""
        found = {"compute": self.compute, "node": 0.0, "network": 0.0, "bubble": self.waits, "update": self.update}
        for (_, level), seconds in self.exposed.items():
            found[level] += seconds
        return found

    @property
    def costs(self) -> str:
        """What is longest of what is no arithmetic: "node", "network", "bubble" or "update"."""
        others = {name: seconds for name, seconds in self.parts.items() if name != "compute"}
        return max(others, key=others.__getitem__)

    @property
    def tokens_per_second(self) -> float:
        """Of one GPU."""
        return self.tokens / self.seconds / self.gpus

    @property
    def mfu(self) -> float:
        """The model's FLOPs over what the GPUs could do in that time at their peak."""
        return self.counted.model / (self.seconds * self.gpus * self.peak)

    @property
    def hfu(self) -> float:
        """The same with what is computed a second time."""
        return self.counted.hardware / (self.seconds * self.gpus * self.peak)

    def __str__(self) -> str:
        shares = ", ".join(f"{name} {seconds / self.seconds:.1%}" for name, seconds in self.parts.items() if seconds)
        return (
            f"a step takes {seconds_text(self.seconds)}: {shares}; {self.share_hidden:.0%} of its messages hidden; "
            f"{self.tokens_per_second:,.0f} tokens/s a GPU, MFU {self.mfu:.1%}, HFU {self.hfu:.1%}"
        )
