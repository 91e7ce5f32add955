"""Which network to emulate between the ranks: asked and checked before anything starts. Chapter: latency-bandwidth."""

from __future__ import annotations

from dataclasses import replace

from helpers.facts import Link
from helpers.ranks.machine.devices import World
from helpers.units import seconds_text

from .ports import Wires


def emulated(world: World, link: object) -> tuple[World, Wires]:
    """The world with the network in its label, and the network as a plain table, which can travel to the ranks.

    link: a `Link`, or anything with link(src, dst) that returns one for every two ranks. TypeError and ValueError name what is not.
    """
    if world.backend != "gloo":
        raise ValueError(
            f'a link is emulated between CPU ranks: Ranks(..., backend="gloo", link=...), got {world.label}'
        )
    if not callable(getattr(link, "link", None)):
        raise TypeError(f"link is a Link, or has a method link(src, dst) that returns one, got {link!r}")
    for src in range(world.nranks):
        for dst in range(world.nranks):
            if src != dst:
                _check_pair(link, src, dst)
    return replace(world, label=f"{world.label}, {_described(link)}"), Wires.of(link, world.nranks)


def _check_pair(link: object, src: int, dst: int) -> None:
    try:
        found = link.link(src, dst)
    except Exception as error:
        raise ValueError(f"link.link({src}, {dst}) raised {type(error).__name__}: {error}") from error
    if not isinstance(found, Link):
        raise TypeError(f"link.link({src}, {dst}) returns a Link, got {found!r}")


def _described(link: object) -> str:
    if isinstance(link, Link):
        return f"emulated link: {seconds_text(link.alpha)}, {link.bandwidth}"
    name = getattr(link, "name", "")
    return f"emulated network: {name}" if isinstance(name, str) and name else "emulated network"
