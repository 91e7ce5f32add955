"""The widget `yours`: a reader's own table, topology, log, dumps or snapshot, and Python's verdict on it, in the page. Chapter: yours.

The page asks `helpers.yours.page`, in the browser; what the reader gives is sent nowhere.
"""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass
from functools import cache
from typing import Any

from helpers.facts import MACHINES
from helpers.view.shared.mount import Spec, fallback, mount
from helpers.view.yours.examples import examples
from helpers.yours import Verdict, is_my_number_good

HEAD = ("Try with", "What the verdict says")
SENTENCE = (
    "With JavaScript this takes a table of nccl-tests, nvidia-smi topo -m, a log of NCCL, flight-recorder dumps, traces of torch's profiler"
    " or a memory snapshot of your own, and gives its verdict in your browser; the table below has what it says of its examples."
)


@dataclass(frozen=True)
class YoursSpec(Spec):
    """example: the name of one of examples(). machine: a key of helpers.facts.MACHINES, "" to go by what the text tells. door: small."""

    example: str
    machine: str
    door: bool


def yours_spec(example: str = "ring", machine: str | None = None, door: bool = False) -> YoursSpec:
    """The example that stands there first, on its own machine unless one is named; ValueError for names that are not there."""
    found = {one["name"]: one for one in examples()}
    if example not in found:
        raise ValueError(f"example must be one of {', '.join(found)}, got {example!r}")
    name = found[example]["machine"] or "" if machine is None else machine
    if name and name not in MACHINES:
        raise ValueError(f"machine must be one of {', '.join(MACHINES)}, got {machine!r}")
    return YoursSpec(example, name, door)


@cache
def judged() -> list[dict[str, Any]]:
    """The examples, and under `found` Python's verdict on each, so that the page needs no Python to show it."""
    return [{**example, "found": verdict_on(example).as_json()} for example in examples()]


def verdict_on(example: dict[str, Any]) -> Verdict:
    """What Python says of an example."""
    if "packed" in example:
        return is_my_number_good([b64decode(one) for one in example["packed"]])
    if "dumps" in example:
        return is_my_number_good(example["dumps"])
    given = b64decode(example["pickle"]) if "pickle" in example else example["text"]
    return is_my_number_good(given, example["machine"])


def yours_html(spec: YoursSpec) -> str:
    """The mount element: the spec, and for readers without JavaScript a sentence and what the verdict says of each example.

    A door brings its one example along, with its verdict: a page that only leads here does not load the others.
    """
    shown = [one for one in judged() if not spec.door or one["name"] == spec.example]
    rows = [(one["label"], one["found"]["sentence"]) for one in shown]
    brings = {"brings": {"yours_examples": shown}} if spec.door else {}
    return mount("yours", spec.as_json() | brings, fallback(SENTENCE, HEAD, rows, "Is my number good?"))
