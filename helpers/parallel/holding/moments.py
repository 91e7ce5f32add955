"""A rank's step as moments: what was asked of the others, and what the rank holds then, by layer. Chapters: data-parallel, sharded.

The tracker knows every block that is alive, and its class. Here each block also gets the layer that it belongs to: by the tensors
that are known from the start, by what a collective is given, and else by the module in which it was made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch

from helpers.memory import Event
from helpers.parallel.counting import OPERATORS, Call, described
from helpers.tracker.tracker import Tracker

# What a layer's bytes are. "gathered": whole parameters that others lent; "reduced": buffers in which gradients are added up.
SLOTS = ("parameter", "gathered", "gradient", "reduced", "optimizer", "activation")
OUTSIDE = -1  # no layer: the input, temporaries, the loss


Known = tuple[torch.Tensor, int, str]


@dataclass
class Moments:
    """The moments of one rank. units: the layers' names, in the order of forward.

    Give `hear` to the tracker as its on_event and `called` to `listening`, then set `watch`. known() tells tensors whose layer is known,
    each with that and its slot, which counts where the tracker has no class of SLOTS for it. unit: the layer that is at work, and asks for
    a collective whose tensors nobody knows. Nothing is noted while `on` is False.
    """

    units: list[str]
    watch: Tracker | None = None
    known: Callable[[], Iterable[Known]] = tuple
    on: bool = False
    phase: str = "forward"
    unit: int = OUTSIDE
    noted: list[dict] = field(default_factory=list)
    _alive: dict[int, tuple[int, str, str]] = field(default_factory=dict)
    _owner: dict[int, tuple[int, str]] = field(default_factory=dict)
    _total: int = 0
    _most: int = 0

    def begin(self) -> None:
        """From here on moments are noted."""
        self.on, self._most = True, self._total

    def hear(self, event: Event) -> None:
        """One event of the tracker."""
        if event.kind == "free":
            self._total -= self._alive.pop(event.block)[0]
            self._owner.pop(event.block, None)
        elif event.kind != "mark":
            before = self._alive.get(event.block)
            self._total += event.nbytes if before is None else 0
            made_in = before[2] if before and before[2] else event.module
            self._alive[event.block] = event.nbytes, event.cls, made_in
        self._most = max(self._most, self._total)

    def own(self, tensors: Iterable[torch.Tensor], unit: int, slot: str) -> None:
        """These tensors are that layer's, as long as their blocks live."""
        for tensor in tensors:
            for block in self.watch.blocks(tensor):
                self._owner.setdefault(block, (unit, slot))

    def called(self, operator: str, args: tuple) -> None:
        """A collective is asked for: a moment before it moves anything, its buffers made.

        Also while nothing is noted: what a collective is given may live on (DDP's buckets).
        """
        if self.watch is None:
            return
        call = described(operator, args)
        _, given, taken, *_ = OPERATORS[operator]
        tensors = [tensor for at in (given, taken) if at is not None for tensor in flat(args[at])]
        self._find_known()
        owners = [self._owner[b][0] for tensor in tensors for b in self.watch.blocks(tensor) if b in self._owner]
        unit = owners[0] if owners else self.unit
        self.own(tensors, unit, "gathered" if call.op == "all_gather" else "reduced")
        if self.on:
            self.note(call.op, unit, call)

    def note(self, what: str, unit: int = OUTSIDE, call: Call | None = None) -> None:
        """A moment: what happens, to which layer, by which call; and what is held now."""
        if not self.on:
            return
        by_unit, rest = self.held()
        told = {"op": call.op, "nbytes": max(call.given, call.taken), "sent": float(call.sent)} if call else None
        self.noted.append(
            {
                "phase": self.phase,
                "what": what,
                "unit": unit,
                "call": told,
                "held": by_unit,
                "rest": rest,
                "total": self._total,
                "most": self._most,
            }
        )
        self._most = self._total

    def held(self) -> tuple[list[list[int]], int]:
        """(of every layer the bytes in each of SLOTS, the bytes outside); together all that is alive."""
        self._find_known()
        found, rest = [[0] * len(SLOTS) for _ in self.units], 0
        for block, (nbytes, cls, module) in self._alive.items():
            unit, slot = self._owner.get(block, (self._unit_of(module), ""))
            name = cls if cls in SLOTS else slot  # the last gradient of a layer has no class yet when it arrives
            if unit == OUTSIDE or name not in SLOTS:
                rest += nbytes
            else:
                found[unit][SLOTS.index(name)] += nbytes
        return found, rest

    def _find_known(self) -> None:
        """Storages that were given up and made again have new blocks."""
        for tensor, unit, slot in self.known():
            self.own([tensor], unit, slot)

    def _unit_of(self, module: str) -> int:
        inside = (i for i, name in enumerate(self.units) if module == name or module.startswith(f"{name}."))
        return next(inside, OUTSIDE)


def flat(what: object) -> list[torch.Tensor]:
    """The tensors in nested lists."""
    if isinstance(what, torch.Tensor):
        return [what]
    return [tensor for one in what for tensor in flat(one)] if isinstance(what, (list, tuple)) else []
