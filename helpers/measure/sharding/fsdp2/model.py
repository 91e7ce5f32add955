"""A model under fully_shard: all its units. Chapter: too-big."""

from __future__ import annotations

import torch
from torch import nn

from helpers.measure.step.precision import Policy

from .as_module import as_fsdp_module
from .piece import Piece
from .unit import Seen, Unit, Wire
from .units import parameters, units


class FullyShard:
    """A model under fully_shard: its units, and the shards that an optimizer works on.

    model: on meta, its parameters in the type that computes. reshard: as torch's reshard_after_forward of all units but the root and the
    last, which torchtitan keeps; ends: of the last one, too. rank 0 has the most rows where they do not go up. teams: of nranks each
    (HSDP), one unless told. ShardingError for a parameter that has no dimension.
    """

    def __init__(
        self,
        model: nn.Module,
        nranks: int,
        policy: Policy,
        reshard: bool,
        rank: int = 0,
        teams: int = 1,
        ends: bool = False,
    ):
        self.wire, self.units = Wire(), []
        taken: set[nn.Parameter] = set()
        for modules, again in (*units(model), ([model], False)):
            mine = [p for p in dict.fromkeys(parameters(modules)) if p not in taken]
            taken.update(mine)
            made = [Piece(p, nranks, rank, torch.float32) for p in mine]
            self.units.append(Unit(modules, made, nranks, self.wire, policy))
            self.units[-1].reshard, self.units[-1].teams = (again or ends) and reshard, teams
        self.units[-1].root, self.units[-1].reshard = True, False
        place = {module: i for i, module in enumerate(model.modules())}
        self.units.sort(key=lambda unit: place[unit.modules[0]])
        self.wire.units = self.units
        for unit in self.units:
            as_fsdp_module(unit)

    @property
    def pieces(self) -> list[Piece]:
        """Of all units."""
        return [piece for unit in self.units for piece in unit.pieces]

    @property
    def shards(self) -> list[nn.Parameter]:
        """What the optimizer works on."""
        return [piece.shard for piece in self.pieces]

    def tell(self, seen: Seen) -> None:
        """Tell who watches what each buffer is for, those of now and those to come."""
        for piece in self.pieces:
            seen(piece.kept, "parameter")
            seen(piece.gathered, "communication")
        for unit in self.units:
            unit.seen = seen

    def ask(self) -> None:
        """Begin to gather everything."""
        for unit in self.units:
            unit.ask()

    def wait(self) -> None:
        """All that was asked for is here."""
        for unit in self.units:
            if unit.asked is not None:
                unit.gather(forward=False)

    def free(self) -> None:
        """All whole parameters go."""
        for unit in self.units:
            unit.free()

    def hold(self, on: bool = True) -> None:
        """From now on a backward adds its gradients up, whole, and keeps what it gathered."""
        for unit in self.units:
            unit.reduces = unit.frees = not on

    def reduce(self) -> None:
        """What was added up goes to its owners, in the order of the modules, and all whole parameters go."""
        self.hold(False)
        for unit in self.units:
            unit.after_backward()
        self.finish()
        self.hold()

    def finish(self, last: bool = True) -> None:
        """Backward is over: what nobody reduced is, in the order of the modules. last: of those whose gradients are added up."""
        for unit in self.units:
            unit.left.clear()
            if unit.state != "reduced":
                unit.after_backward()
            unit.state = unit.phase = "idle"
            if last:
                unit.asked = unit.crossed = None
                unit.turns.clear()
        if last:
            self.wire.order.clear()
            self.wire.reduced = None
