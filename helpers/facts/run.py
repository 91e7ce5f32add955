"""Training runs that others published: a model, machines, a way to share out, and tokens a second. Chapter: meshes.

RUNS[0].model, RUNS[0].gpus, RUNS[0].published
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from helpers.facts.fact import Entry, FactError, Source
from helpers.facts.model import Model, build_models


@dataclass(frozen=True)
class Run:
    """One row of a published table. machine: a key of MACHINES, of which `gpus / 8` nodes stand together.

    batch: sequences of one micro-batch of one data rank. checkpoint: a key of helpers.ledger.flops.AGAIN. tokens_per_second: of one
    GPU; where the source gives TFLOP/s of one GPU instead, `tflops`. nparams: as the source counts them, 0 where it does not.
    hides: of helpers.ledger.timing.HIDES, where the source says that it hides them.
    note: what the source leaves open, and what was taken for it.
    """

    table: str
    model: Model
    machine: str
    gpus: int
    seq: int
    batch: int
    source: Source
    where: str
    tokens_per_second: float = 0.0
    tflops: float = 0.0
    pairs: str = ""
    zero: int = 0
    tensor: int = 1
    pipeline: int = 1
    micro_batches: int = 1
    precision: str = "bf16"
    checkpoint: str = "none"
    hides: tuple[str, ...] = ()
    nparams: int = 0
    note: str = ""

    def __post_init__(self) -> None:
        if bool(self.tokens_per_second) == bool(self.tflops):
            raise FactError(
                f"{self}: a run has tokens a second or TFLOP/s, got {self.tokens_per_second} and {self.tflops}"
            )
        if bool(self.tflops) != bool(self.pairs):
            raise FactError(
                f"{self}: TFLOP/s go with the scores that the source counts, got {self.tflops} and pairs {self.pairs!r}"
            )
        if self.gpus % (self.tensor * self.pipeline):
            raise FactError(
                f"{self}: {self.gpus} GPUs are not shared by {self.tensor} tensor ranks and {self.pipeline} stages"
            )

    @property
    def data(self) -> int:
        """Data ranks."""
        return self.gpus // (self.tensor * self.pipeline)

    @property
    def sequences(self) -> int:
        """Of all GPUs together in one step."""
        return self.batch * self.micro_batches * self.data

    def __str__(self) -> str:
        ways = [("tensor", self.tensor), ("stages", self.pipeline)]
        shared = "".join(f", {name} {n}" for name, n in ways if n > 1)
        return f"{self.model.name} on {self.gpus} ({self.table}), {self.seq:,} tokens{shared}, checkpoint {self.checkpoint}"


def build_runs(table: Mapping[str, Any], models: Mapping[str, Model], sources: Mapping[str, Source]) -> tuple[Run, ...]:
    """The runs of a parsed runs.toml; FactError for a row that does not fill its columns, or names what nobody knows."""
    known = {**models, **build_models(_whole(table["models"]), sources)}
    return tuple(run for name, group in table["runs"].items() for run in _rows(name, group, known, sources))


def _whole(models: Mapping[str, Entry]) -> dict[str, Entry]:
    """Each with what it takes from the one that it names."""
    bare = {name: {part: value for part, value in entry.items() if part != "of"} for name, entry in models.items()}
    return {name: {**bare.get(entry.get("of", name), {}), **bare[name]} for name, entry in models.items()}


def _rows(name: str, group: Entry, models: Mapping[str, Model], sources: Mapping[str, Source]) -> Iterator[Run]:
    shared = {part: value for part, value in group.items() if part not in ("columns", "rows")}
    if shared.get("source") not in sources:
        raise FactError(f"{name}: runs need a source listed in sources.toml, got {shared.get('source')!r}")
    for row in group["rows"]:
        if len(row) != len(group["columns"]):
            raise FactError(f"{name}: a row fills the columns {', '.join(group['columns'])}, got {row}")
        given = {**shared, **dict(zip(group["columns"], row, strict=True)), "source": sources[shared["source"]]}
        if given["model"] not in models:
            raise FactError(f"{name}: no model {given['model']!r}; there are {', '.join(models)}")
        given["hides"] = tuple(given.get("hides", ()))
        yield _run(name, {**given, "model": _as_long(models[given["model"]], given["seq"])})


def _run(name: str, given: dict[str, Any]) -> Run:
    try:
        return Run(name, **given)
    except TypeError as error:
        raise FactError(f"{name}: {error}") from None


def _as_long(model: Model, seq: int) -> Model:
    """Learned positions are as many as the run has tokens in a sequence."""
    return replace(model, context=seq) if model.positions == "learned" else model
