"""What XLA put in under every layout, recorded: for machines without JAX, and for pages. Chapter: annotations."""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import Any

from helpers.hlo import Compiled
from helpers.parallel.reference import Trained, Training, difference, train
from helpers.ranks import recorded

from . import by_jax
from .blocks import alone as block_loss
from .layouts import LAYOUTS

NAME, COMMAND = "jax-cpu", "python -m helpers.parallel.annotated"
TRAINING, NRANKS = Training(steps=2), 4  # as the lab's ranks train, with two samples a device
PAIRS = (3, 4)  # of residual blocks: what the fourth adds is a pair's
REFUSED = ("pairs", "batch and matrices")  # on explicit axes
_METADATA = re.compile(r", metadata=\{.*?\}(?=,|$)")
_SPACE = re.compile(r"^\s*(?:ROOT )?%?")


def label() -> str:
    """Of a run on this machine. PackageNotFoundError without JAX."""
    return f"{NRANKS} virtual devices of one CPU, JAX {version('jax')}"


def taken() -> dict[str, Any]:
    """By JAX, here: of every layout what was compiled and how far it trains from one process; NoJaxError without JAX.

    jax: its version; devices: how many. layouts: by name, `calls` and `sent` of an operation (bytes that a device must send in a
    step), `collectives` in words, their `lines` of HLO without metadata, matrix `products`, `far`: the largest difference after all
    steps. explicit: what JAX says instead of compiling where axes are explicit. blocks: by number of pairs, residual blocks of which
    only the matrices are annotated, `calls`, `sent` and `far` of their loss.
    """
    alone, blocks = train(TRAINING), by_jax.blocks(PAIRS, NRANKS)
    session = by_jax.run(TRAINING, list(LAYOUTS.values()), NRANKS)
    explicit = by_jax.run(TRAINING.but(steps=1), [LAYOUTS[name] for name in REFUSED], NRANKS, explicit=True)
    return {
        "jax": session.version,
        "devices": NRANKS,
        "layouts": {one.layout.name: told(one, alone) for one in session.answers},
        "blocks": {str(n): of_blocks(n, *blocks[n]) for n in PAIRS},
        "explicit": {one.layout.name: one.refused for one in explicit.answers},
    }


def told(answer: by_jax.Answer, alone: Trained) -> dict[str, Any]:
    """Of one layout, as JSON holds it. RuntimeError where JAX refused it."""
    if answer.compiled is None or answer.trained is None:
        raise RuntimeError(f"JAX refuses the layout {answer.layout.name!r}: {answer.refused}")
    found, text = answer.compiled, answer.text.splitlines()
    return {
        "calls": found.by_op(),
        "sent": {op: int(found.sent(0, op)) for op in found.by_op()},
        "collectives": [str(one) for one in found.collectives],
        "lines": [plain(text[one.line - 1]) for one in found.collectives],
        "products": answer.products,
        "far": difference(answer.trained, alone),
    }


def of_blocks(npairs: int, found: Compiled, loss: float) -> dict[str, Any]:
    """Of so many residual blocks, as JSON holds it."""
    sent = {op: int(found.sent(0, op)) for op in found.by_op()}
    return {"calls": found.by_op(), "sent": sent, "far": abs(loss - block_loss(npairs))}


def plain(line: str) -> str:
    """A line of HLO without its metadata, its indent and the sign of a name."""
    return _SPACE.sub("", _METADATA.sub("", line))


def shown(name: str = NAME) -> recorded.Run:
    """What the lab shows: this machine's run where JAX is installed, else the recorded one of this name, and on pages always."""
    if recorded.shown() or not by_jax.installed():
        return recorded.load(name)
    return recorded.measured_or_recorded(name, taken, label(), COMMAND)
