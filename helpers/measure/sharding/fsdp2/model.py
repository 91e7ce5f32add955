"""A model under fully_shard: all its units. Chapter: too-big."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch
from torch import nn

from helpers.measure.step.precision import Policy

from .as_module import as_fsdp_module
from .piece import Piece
from .unit import Seen, Unit, Wire
from .units import in_order, parameters, units


class FullyShard:
    """A model under fully_shard: its units, and the shards that an optimizer works on.

    model: on meta, its parameters in the type that computes. reshard: as torch's reshard_after_forward of all units but the root and the
    last, which torchtitan keeps; ends: of the last one, too. rank 0 has the most rows where they do not go up. teams: of nranks each
    (HSDP), one unless told. apart: of parameters that not all ranks have, as experts, how many have them; then units are asked for ahead by
    name. ShardingError for a parameter that has no dimension.
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
        apart: Mapping[nn.Parameter, int] | None = None,
    ):
        self.wire, self.units, self.wholes = Wire(), [], list(model.parameters())
        taken: set[nn.Parameter] = set()
        for modules, again in (*units(model), ([model], False)):
            mine = [p for p in dict.fromkeys(parameters(modules)) if p not in taken]
            taken.update(mine)
            self.units.append(_unit(modules, mine, apart or {}, nranks, rank, self.wire, policy))
            for one in self.units[-1].groups:
                one.reshard, one.teams = (again or ends) and reshard, teams
        self.units[-1].root, self.units[-1].reshard = True, False
        place = {module: i for i, module in enumerate(model.modules())}
        self.units.sort(key=lambda unit: place[unit.modules[0]])
        self.wire.units = self.units
        for unit in self.units:
            as_fsdp_module(unit)
        if apart:
            self._ask_by_name(model)

    def _ask_by_name(self, model: nn.Module) -> None:
        of = {module: unit for unit in self.units for module in unit.modules}
        row = [of[module] for module in in_order(model)]
        for one, next_one in pairwise(row):
            one.after, next_one.before = next_one, one

    @property
    def groups(self) -> list[Unit]:
        """All units, and those inside them."""
        return [one for unit in self.units for one in unit.groups]

    @property
    def pieces(self) -> list[Piece]:
        """Of all units."""
        return [piece for unit in self.groups for piece in unit.pieces]

    @property
    def shards(self) -> list[nn.Parameter]:
        """What the optimizer works on, in the order of the model's parameters: two neighbours' scratch is there at once."""
        of = {piece.whole: piece.shard for piece in self.pieces}
        return [of[whole] for whole in self.wholes]

    def tell(self, seen: Seen) -> None:
        """Tell who watches what each buffer is for, those of now and those to come."""
        for piece in self.pieces:
            seen(piece.kept, "parameter")
            seen(piece.gathered, "communication")
        for unit in self.groups:
            unit.seen = seen

    def ask(self) -> None:
        """Begin to gather everything."""
        for unit in self.groups:
            unit.ask()

    def wait(self) -> None:
        """All that was asked for is here."""
        for unit in self.groups:
            if unit.asked is not None:
                unit.gather(forward=False)

    def free(self) -> None:
        """All whole parameters go."""
        for unit in self.groups:
            unit.free()

    def hold(self, on: bool = True) -> None:
        """From now on a backward adds its gradients up, whole, and keeps what it gathered."""
        for unit in self.groups:
            unit.reduces = unit.frees = not on

    def reduce(self) -> None:
        """What was added up goes to its owners, in the order of the modules, and all whole parameters go."""
        self.hold(False)
        for unit in self.groups:
            unit.after_backward()
        self.finish()
        self.hold()

    def finish(self, last: bool = True) -> None:
        """Backward is over: what nobody reduced is, in the order of the modules. last: of those whose gradients are added up."""
        for unit in [one for several in self.units for one in reversed(several.groups)]:
            unit.left.clear()
            if unit.state != "reduced":
                unit.after_backward()
            unit.state = unit.phase = "idle"
            if last:
                unit.asked = unit.crossed = None
                unit.turns.clear()
        if last:
            self.wire.order.clear()
            self.wire.reduced.clear()


def _unit(
    modules: list[nn.Module],
    params: Sequence[nn.Parameter],
    apart: Mapping[nn.Parameter, int],
    nranks: int,
    rank: int,
    wire: Wire,
    policy: Policy,
) -> Unit:
    """With a group for each number of ranks that have some of the parameters, in the parameters' order; the first one has the hooks."""
    among = {p: apart.get(p, nranks) for p in params}
    counts = list(dict.fromkeys(among.values())) or [nranks]
    groups = []
    for n in counts:
        made = [Piece(p, n, rank // (nranks // n), torch.float32) for p in params if among[p] == n]
        groups.append(Unit(modules if n == counts[0] else [], made, n, wire, policy))
    for one in groups:
        one.clears = one is groups[-1]
    groups[0].groups = groups
    return groups[0]
