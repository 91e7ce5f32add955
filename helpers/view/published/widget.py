"""The widget `published`: busbw or time of published runs over the size, with NCCL's model and a plain line; a reader's own table joins.

Model, line and a reader's own curves are Python's; the page works the line out anew, tested equal. Pages: recorded-runs, benchmarking.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

import traitlets

from helpers.nccl.published import Published, published
from helpers.units import nbytes_text, parse_nbytes
from helpers.view.published.words import LETTERS, name, reading
from helpers.view.shared.mount import Spec, fallback, mount
from helpers.view.shared.widget import SpecWidget
from helpers.view.shared.words import column, listed

AXES = ("busbw", "time")
# Which NCCL made the rows of the folder 2.27.3? At 8 MiB the versions take different ways.
START = tuple(
    f"B200.all_reduce.4.half.{which}" for which in ("2.29.2.in-2.27.3", "2.27.5.in-2.27.5", "2.29.2.in-2.29.2")
)


@lru_cache(maxsize=1)
def by_key() -> dict[str, Published]:
    """Every published run by its key."""
    return {run.key: run for run in published()}


@dataclass(frozen=True)
class PublishedSpec(Spec):
    """The whole state: keys of the runs, the size that is read off, what the axis shows, whether model and line are drawn."""

    curves: tuple[str, ...]
    at: int
    axis: str
    model: bool
    line: bool

    @property
    def runs(self) -> list[Published]:
        return [by_key()[key] for key in self.curves]

    def as_json(self) -> dict:
        """As the page takes it: a list of keys."""
        return {**super().as_json(), "curves": list(self.curves)}


def published_spec(
    *curves: str, at: int | str = "8 MiB", axis: str = "busbw", model: bool = True, line: bool = False
) -> PublishedSpec:
    """The state that the reader begins with. curves: up to three keys, START unless told; at: a size that one of them has.

    ValueError on a key that no run has (naming close ones), more than three or twice the same, a size that none has, another axis.
    """
    keys = tuple(curves) or START
    for key in keys:
        if key not in by_key():
            close = get_close_matches(str(key), by_key(), n=3, cutoff=0.3)
            raise ValueError(f"no published run {key!r}; close: {', '.join(close) or 'none'}")
    if len(keys) > len(LETTERS) or len(set(keys)) < len(keys):
        raise ValueError(f"one to {len(LETTERS)} different runs, got {', '.join(keys)}")
    if axis not in AXES:
        raise ValueError(f"axis is one of {', '.join(AXES)}, got {axis!r}")
    for word, value in (("model", model), ("line", line)):
        if not isinstance(value, bool):
            raise ValueError(f"{word} is True or False, got {value!r}")
    return PublishedSpec(keys, _size(at, keys), axis, model, line)


def _size(at: int | str, keys: tuple[str, ...]) -> int:
    sizes = sorted({size for key in keys for size in by_key()[key].sizes})
    size = parse_nbytes(at)
    if isinstance(at, bool) or size not in sizes:
        raise ValueError(
            f"at is a size that was measured, {nbytes_text(sizes[0])} to {nbytes_text(sizes[-1])}, got {at!r}"
        )
    return size


def sentence(spec: PublishedSpec) -> str:
    """Which runs, and the size that is read off."""
    named = [f"{letter} is {name(run)}" for letter, run in zip(LETTERS, spec.runs, strict=False)]
    return f"{reading(spec.runs, spec.at)} Here {listed(named)}."


def published_html(spec: PublishedSpec) -> str:
    """The mount element: the spec, and for readers without JavaScript the sentence, and times and bandwidths by size."""
    runs = spec.runs
    sizes = sorted({size for run in runs for size in run.sizes})
    columns = [("Size", [nbytes_text(size) for size in sizes])]
    for letter, run in zip(LETTERS, runs, strict=False):
        for words, values, unit in (
            (f"{letter}, time", run.seconds, "s"),
            (f"{letter}, busbw one way", run.busbw, "B/s"),
        ):
            head, cells = column(words, values, unit)
            told = dict(zip(run.sizes, cells, strict=True))
            columns.append((head, [told.get(size, "–") for size in sizes]))
    heads, cells = zip(*columns, strict=True)
    rows = zip(*cells, strict=True)
    return mount("published", spec.as_json(), fallback(sentence(spec), heads, rows, "Published times by size"))


class PublishedWidget(SpecWidget):
    """Published runs to explore. `runs` are those on show now."""

    name = "published"
    about = "published runs"
    asks = ("helpers.yours.own:curves",)
    said, mounted = map(staticmethod, (sentence, published_html))
    published = traitlets.Dict().tag(sync=True)

    def read(self, data: dict) -> PublishedSpec:
        told = dict(vars(PublishedSpec.read(data)))
        return published_spec(*told.pop("curves"), **told)

    @property
    def runs(self) -> list[Published]:
        return [by_key()[key] for key in self.spec["curves"]]


def explore_published(
    *curves: str, at: int | str = "8 MiB", axis: str = "busbw", model: bool = True, line: bool = False
) -> PublishedWidget:
    """Published runs by their keys, up to three: `explore_published("H100.all_reduce.8.half.2.29.2.in-2.29.2", at="1 MiB")`."""
    return PublishedWidget(published_spec(*curves, at=at, axis=axis, model=model, line=line))
