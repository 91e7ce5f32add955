"""The widget `yours`: a reader's own table, topology, log, dumps or snapshot, and Python's verdict on it, in the page. Chapter: yours.

The page asks `helpers.yours.page`, in the browser; what the reader gives is sent nowhere.
"""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass
from typing import Any

from helpers.facts import MACHINES
from helpers.view.shared.mount import fallback, mount
from helpers.view.shared.spec import Spec
from helpers.view.yours.examples import examples
from helpers.yours import Verdict, is_my_number_good

HEAD = ("Try with", "What the verdict says")
SENTENCE = (
    "With JavaScript this takes a table of nccl-tests, nvidia-smi topo -m, a log of NCCL, flight-recorder dumps, traces of torch's profiler"
    " or a memory snapshot of your own, and gives its verdict in your browser; the table below has what it says of its examples."
)


@dataclass(frozen=True)
class YoursSpec(Spec):
    """example: the name of one of examples(). machine: a key of helpers.facts.MACHINES, "" to go by what the text tells."""

    example: str
    machine: str


def yours_spec(example: str = "ring", machine: str | None = None) -> YoursSpec:
    """The example that stands there first, on its own machine unless one is named; ValueError for names that are not there."""
    found = {one["name"]: one for one in examples()}
    if example not in found:
        raise ValueError(f"example must be one of {', '.join(found)}, got {example!r}")
    name = found[example]["machine"] or "" if machine is None else machine
    if name and name not in MACHINES:
        raise ValueError(f"machine must be one of {', '.join(MACHINES)}, got {machine!r}")
    return YoursSpec(example, name)


def verdict_on(example: dict[str, Any]) -> Verdict:
    """What Python says of an example."""
    if "packed" in example:
        return is_my_number_good([b64decode(one) for one in example["packed"]])
    if "dumps" in example:
        return is_my_number_good(example["dumps"])
    given = b64decode(example["pickle"]) if "pickle" in example else example["text"]
    return is_my_number_good(given, example["machine"])


def yours_html(spec: YoursSpec) -> str:
    """The mount element: the spec, and for readers without JavaScript a sentence and what the verdict says of each example."""
    rows = [(one["label"], verdict_on(one).sentence) for one in examples()]
    return mount("yours", spec.as_json(), fallback(SENTENCE, HEAD, rows, "Is my number good?"))
