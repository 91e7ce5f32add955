"""What an algorithm of the catalogue says of itself: once, in the decorator above its builder.

From there the catalogue has its entry, the page its row, the tests their closed forms, a price without a schedule its loads, and
the docstring its last lines. Chapters: ring, trees, catalogue.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any, Protocol, TypeVar, cast

from helpers.collector import waiting

from .forms import Form, form
from .profiles import Profile, Tell, profile_of
from .schedule import Schedule

ORDER = ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "scatter", "gather", "all_to_all")
ALIKE = "none: every rank does the same"


@dataclass(frozen=True)
class About:
    """One row of the table of algorithms.

    what: the docstring's first paragraph. steps and moves: closed forms; moves is what the busiest rank sends or receives in all,
    whichever is more, in units of N, the nbytes of nccl-tests. messages: the most that a port passes in a step, each way.
    used_by: libraries, by their names in facts/users.toml. source: where the algorithm was published, if it was.
    """

    collective: str
    algorithm: str
    what: str
    steps: Form
    moves: Form
    messages: Form
    bottleneck: str
    used_by: str
    chapter: str
    source: str

    def __str__(self) -> str:
        """The lines that end a builder's docstring."""
        lines = {"Steps": self.steps, "Moves": self.moves, "Bottleneck": self.bottleneck, "Used by": self.used_by}
        lines |= {"Chapter": self.chapter} | ({"Source": self.source} if self.source else {})
        return "\n".join(f"{label}: {said}" for label, said in lines.items())


class Builder(Protocol):
    """A builder of the catalogue: builder(nranks, ...) -> Schedule, and profile(nranks, ...) its loads, without building it."""

    __name__: str
    about: About

    def __call__(self, nranks: int, *args: Any, **kwargs: Any) -> Schedule: ...

    def profile(self, nranks: int, *args: Any, **kwargs: Any) -> Profile: ...


Build = TypeVar("Build", bound=Callable[..., Schedule])


def algorithm(
    collective: str,
    name: str,
    *,
    steps: Form | int,
    moves: Form | int,
    used_by: str,
    chapter: str,
    bottleneck: str = ALIKE,
    messages: Form | int = 1,
    loads: Tell | None = None,
    source: str = "",
) -> Callable[[Build], Build]:
    """Writes a builder into the catalogue: what its schedules do, and `about(builder)` what is said of them (see `About`).

    loads: tells the builder's profile (see `profiles.profile_of`). It may be left out where all steps are alike, and the builder
    takes nothing but nranks and root: then each of the `steps` has one message and an equal share of `moves`.
    ValueError for a builder without a docstring, or one that must tell its loads.
    """

    def attach(build: Build) -> Build:
        what = inspect.cleandoc(build.__doc__ or "")
        if not what:
            raise ValueError(f"{_named(build)} has no docstring: its first paragraph says what the algorithm does")
        said = About(
            collective=collective,
            algorithm=name,
            what=" ".join(what.split("\n\n")[0].split()),
            steps=form(steps),
            moves=form(moves),
            messages=form(messages),
            bottleneck=bottleneck,
            used_by=used_by,
            chapter=chapter,
            source=source,
        )
        made = waiting()(build)
        vars(made).update(about=said, profile=profile_of(build, loads or _alike(build, said)))
        made.__doc__ = f"{what}\n\n{said}"
        return made

    return attach


def about(build: Callable[..., Schedule]) -> About:
    """What the decorator of a builder says. ValueError for one without it."""
    said = getattr(build, "about", None)
    if not isinstance(said, About):
        raise ValueError(f"{_named(build)} is no builder of the catalogue: it has no @algorithm(...) above it")
    return said


def collected(families: Sequence[ModuleType]) -> dict[tuple[str, str], Builder]:
    """{(collective, algorithm): builder} of all builders that these modules define, in the order of the page.

    ValueError where two go by one name, or a collective is none that the course knows.
    """
    catalogue: dict[tuple[str, str], Builder] = {}
    for build in (build for family in families for build in _builders(family)):
        key = build.about.collective, build.about.algorithm
        if key[0] not in ORDER:
            raise ValueError(f"{_named(build)} does {key[0]!r}: expected one of {', '.join(ORDER)}")
        if key in catalogue:
            raise ValueError(f"{_named(build)} and {_named(catalogue[key])} are both {' '.join(key)}")
        catalogue[key] = build
    return {key: catalogue[key] for key in sorted(catalogue, key=lambda key: ORDER.index(key[0]))}


def _builders(family: ModuleType) -> Iterator[Builder]:
    for found in vars(family).values():
        if isinstance(getattr(found, "about", None), About) and found.__module__ == family.__name__:
            yield cast(Builder, found)


def _alike(build: Callable[..., Schedule], said: About) -> Tell:
    """Every step moves as much as any other."""
    if more := inspect.signature(build).parameters.keys() - {"nranks", "root"}:
        raise ValueError(f"{_named(build)} takes {min(more)}: @algorithm needs loads=, which tell what that changes")

    def tell(nranks: int, root: int = 0) -> Iterable[tuple[int, int, Fraction]]:
        steps = int(said.steps(nranks))
        return [(steps, 1, said.moves(nranks) / steps)]

    return tell


def _named(build: Callable[..., Schedule]) -> str:
    return f"{build.__module__}.{build.__name__}"
