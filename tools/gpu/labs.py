"""Three labs worth running on this machine: what the verdict accuses first, then what was measured here. A reason for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from helpers.yours import Verdict

from .place import ROOT

MOST = 3
RANKS = "failed checks of ranks"  # the cause that no lab with ranks can look into
STARTS = "Ranks("  # in the text of a lab that starts some


class Lab(NamedTuple):
    """stem: of its notebook. check: has to have passed. reason: from that check's figures."""

    stem: str
    check: str
    reason: Callable[[Mapping[str, Any]], str]


def _best(figures: Mapping[str, Any]) -> str:
    line = max(figures["all_reduce"], key=lambda one: one["busbw"])
    return f"your own all_reduce is measured, {line['busbw'] / 1e9:.0f} GB/s busbw at most: read its table as the lab reads one"


def _peaks(figures: Mapping[str, Any]) -> str:
    off = max(abs(one["share"]) for one in figures.values())
    return f"the predicted peak of a training step is this machine's within {off:.1%}: watch the step live"


LABS = (
    Lab("benchmarking", "bandwidth", _best),
    Lab("training-memory", "memory, predicted", _peaks),
    Lab("roofline", "roofline", lambda found: f"the roof here is {found['roof']}: see which operations reach it"),
    Lab(
        "inside-nccl",
        "protocols, each forced",
        lambda found: f"NCCL {found['nccl']} took each protocol that it was told",
    ),
    Lab(
        "memory-hierarchy",
        "ladder",
        lambda found: f"the steps here are {found['steps']}: find the size at which they begin",
    ),
    Lab(
        "ring",
        "every schedule equals torch",
        lambda found: f"all {found['schedules']} schedules give torch's bits here",
    ),
    Lab("primitives", "ten primitives", lambda found: "each of them ran here and gave what it promises"),
    Lab("hangs", "a rank is killed", lambda found: "ranks were killed and stuck here on purpose, and each was named"),
    *(
        Lab(stem, "", lambda found: "it starts no ranks, and runs whatever failed here")
        for stem in ("allocator", "execution-model", "choosing")
    ),
)


def labs(answers: Mapping[str, dict], verdict: Verdict) -> list[tuple[str, str]]:
    """(stem, reason), MOST of them. answers: by check."""
    fails = any(one.name == RANKS for one in verdict.causes)
    found: dict[str, str] = {}
    for stem, reason in _worth(answers, verdict):
        path = ROOT / "notebooks" / f"{stem}.ipynb"
        if path.exists() and not (fails and STARTS in path.read_text(encoding="utf-8")):
            found.setdefault(stem, reason)
    return list(found.items())[:MOST]


def _worth(answers: Mapping[str, dict], verdict: Verdict) -> Iterator[tuple[str, str]]:
    for one in verdict.causes:
        if one.accuses:
            yield one.chapter, f'the verdict names "{one.name}", and this lab is about it'
    for lab in LABS:
        answer = answers.get(lab.check, {})
        if not lab.check or (answer.get("outcome") == "passed" and "figures" in answer):
            yield lab.stem, lab.reason(answer.get("figures", {}))
