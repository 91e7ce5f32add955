"""`profile_step`: one training step in seven stages, and the peak that lies between them.

    print(profile_step(batch=32, seq=128, like_cuda=True))

Chapters: training-memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import torch

from helpers.meanwhile import aloud
from helpers.measure.predict.fast_meta import answers, without_compiler
from helpers.measure.predict.like_cuda import cuda_like
from helpers.memory import CLASSES, Event, Peak, Sample, Trace
from helpers.step.recipe import Recipe
from helpers.tracker.allocator import allocator_counts, peaks_anew
from helpers.tracker.tracker import Tracker, track
from helpers.units import MIB

STAGES = ("empty", "model", "input", "after forward", "after backward", "after step", "after zero_grad")


class Stage(NamedTuple):
    """A moment with a name: bytes alive there, the change since the stage before, and the bytes of every class."""

    name: str
    nbytes: int
    change: int
    by_class: Mapping[str, int]


@dataclass(frozen=True)
class StepProfile:
    """A step that was watched: the recipe, its trace, the stages, and the true peak. str() is the table, in MiB."""

    recipe: Recipe
    trace: Trace

    @property
    def nparams(self) -> int:
        """How many parameters were trained."""
        return int(self.trace.about["nparams"])

    @property
    def peak(self) -> Peak:
        """The highest moment of all."""
        return self.trace.peak

    @property
    def stages(self) -> list[Stage]:
        """Seven for one step, four more for each that follows. The first is empty by definition: nothing of the step is there."""
        found = [Stage("empty", 0, 0, dict.fromkeys(CLASSES, 0))]
        for index, name, nbytes in self.trace.marks:
            parts = dict(zip(CLASSES, map(int, self.trace.by_class[index]), strict=True))
            found.append(Stage(name, nbytes, nbytes - found[-1].nbytes, parts))
        return found

    def stage(self, name: str) -> Stage:
        """The stage of that name. KeyError with those that there are."""
        by_name = {stage.name: stage for stage in self.stages}
        if name not in by_name:
            raise KeyError(f"the stages are {', '.join(by_name)}, got {name!r}")
        return by_name[name]

    @property
    def where(self) -> str:
        """The peak's place: "in backward, layers.5.linear2 (aten::mm)"."""
        peak = self.peak
        return ", ".join(part for part in (f"in {peak.phase or 'no phase'}", peak.module) if part) + f" ({peak.op})"

    def __str__(self) -> str:
        columns = [
            cls for cls in CLASSES if any(stage.by_class[cls] for stage in self.stages) or self.peak.by_class[cls]
        ]
        head = ["MiB", "alive", "change", *columns]
        rows = [[s.name, _mib(s.nbytes), f"{s.change / MIB:+.2f}", *_parts(s.by_class, columns)] for s in self.stages]
        rows.append(["the peak", _mib(self.peak.nbytes), "", *_parts(self.peak.by_class, columns)])
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = [_line(row, widths) for row in (head, *rows)]
        place = f"The peak is {self.where}, after event {self.peak.index + 1:,} of {len(self.trace):,}; {self.trace.source}."
        return "\n".join([self.recipe.label, f"{self.nparams:,} parameters", "", *lines, "", place])

    def data(self) -> dict:
        """Plain data, bytes throughout: settings, stages, peak, and the trace of events."""
        peak = self.peak
        return {
            "settings": self.recipe.settings(),
            "nparams": self.nparams,
            "stages": [{"name": s.name, "bytes": s.nbytes, **s.by_class} for s in self.stages],
            "peak": {
                "bytes": peak.nbytes,
                "event": peak.index,
                "phase": peak.phase,
                "module": peak.module,
                "op": peak.op,
                **peak.by_class,
            },
            "trace": self.trace.data(),
        }

    def to_json(self) -> str:
        """data() as text."""
        return json.dumps(self.data(), separators=(",", ":"))


@aloud("profiling a step")
def profile_step(
    recipe: Recipe | None = None,
    on_event: Callable[[Event], None] | None = None,
    on_sample: Callable[[Sample], None] | None = None,
    **settings,
) -> StepProfile:
    """Run the step of a Recipe, or of its settings by name, under the tracker. RecipeError for a setting that cannot be.

    On CPU and CUDA it is a real step; on CUDA its allocator's peaks begin anew, and what it counts stands in the trace's `about`.
    On meta it is every operator of one, without the bytes; like CUDA, blocks are rounded to 512 bytes as its allocator does. on_event,
    on_sample: as track's.
    """
    recipe = recipe or Recipe(**settings)
    before = peaks_anew() if recipe.device == "cuda" else None
    with _as_on_cuda() if recipe.like_cuda else nullcontext():
        torch.manual_seed(0)
        model = recipe.model()
        optimizer = recipe.trainer(model)
        how = {"devices": ("meta",), "answers": answers} if recipe.like_cuda else {}
        with track(model, optimizer, on_event=on_event, on_sample=on_sample, **how) as watch:
            watch.label(label=recipe.label, **recipe.settings())
            for kept, cls in (("masters", "optimizer"), ("main_grads", "gradient")):  # of precision.MasterWeights
                watch.register(list(getattr(optimizer, kept, {}).values()), cls)
            watch.mark("model")
            with watch.unseen():  # after the mark: on CUDA the allocator is asked there, and it would count the input
                batch = recipe.inputs()
            watch.register(batch, "input")
            watch.mark("input")
            for number in range(recipe.steps):
                _step(recipe, watch, model, batch, optimizer, "" if number == 0 else f", step {number + 1}")
            if before:
                watch.label(allocator=allocator_counts().since(before).data())
    trace = watch.trace.rounded(512) if recipe.like_cuda else watch.trace
    return StepProfile(recipe, trace)


@contextmanager
def _as_on_cuda() -> Iterator[None]:
    """Operators as CUDA's, and none of torch's slow ways to say what shape a result has."""
    with without_compiler(), cuda_like():
        yield


def _step(
    recipe: Recipe,
    watch: Tracker,
    model: torch.nn.Module,
    batch: torch.Tensor,
    optimizer: torch.optim.Optimizer,
    suffix: str,
) -> None:
    """Forward, backward, step, zero_grad; output and loss stay alive until the end, as in a script's main()."""
    with recipe.casting():
        out = model(batch)
        loss = out.square().mean()
    watch.mark(STAGES[3] + suffix)
    loss.backward()
    watch.mark(STAGES[4] + suffix)
    optimizer.step()
    watch.mark(STAGES[5] + suffix)
    optimizer.zero_grad(set_to_none=True)
    watch.mark(STAGES[6] + suffix)


def _mib(nbytes: int) -> str:
    return f"{nbytes / MIB:.2f}"


def _parts(by_class: Mapping[str, int], columns: list[str]) -> list[str]:
    return [_mib(by_class[cls]) if by_class[cls] else "" for cls in columns]


def _line(row: list[str], widths: list[int]) -> str:
    first, *rest = (
        text.ljust(w) if i == 0 else text.rjust(w) for i, (text, w) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join([first, *rest]).rstrip()
