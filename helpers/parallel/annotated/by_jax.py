"""The layouts in JAX, in a process of its own with virtual devices, and the collectives that XLA put in. Chapter: annotations.

Virtual devices are parts of one CPU: XLA compiles for as many as one asks for, partitions the program as it would for GPUs, and runs the
parts in threads. What the text says of collectives is of the CPU's compiler; `by_hand` says where another would differ.
JAX is optional here (requirements-jax.txt), and never imported into the process that asks.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from helpers.hlo import Compiled, parse_hlo_collectives
from helpers.meanwhile import aloud
from helpers.parallel.reference import RATES, Trained, Training

from .blocks import drawn
from .layouts import Layout

PROGRAM = Path(__file__).with_name("inside_jax.py")
DEADLINE = 120.0  # seconds for all layouts: five times what a busy machine with one core took
REMEDY = "install it beside the rest: .venv/bin/python -m pip install -r requirements-jax.txt"
_PRODUCT = re.compile(r" (?:dot|custom-call)\(.*(?:lhs_contracting_dims|matmul)")


class NoJaxError(RuntimeError):
    """JAX is not installed, or its process failed. The message says what to do, or how it ended."""


@dataclass(frozen=True)
class Answer:
    """Of one layout. compiled: its collectives; text: XLA's, whole; products: matrix products in it, less those that sum
    over one row: XLA writes them as plain multiplications. temporary: bytes of a device for what lives inside of a
    step. refused: what JAX said instead, else ""."""

    layout: Layout
    trained: Trained | None = None
    compiled: Compiled | None = None
    text: str = ""
    products: int = 0
    temporary: int | None = None
    refused: str = ""


@dataclass(frozen=True)
class Session:
    """One process: JAX's version, and an answer for each layout."""

    version: str
    nranks: int
    import_seconds: float
    answers: tuple[Answer, ...]

    def __getitem__(self, name: str) -> Answer:
        return next(one for one in self.answers if one.layout.name == name)


def installed() -> bool:
    """Whether JAX can be imported, without doing so."""
    return importlib.util.find_spec("jax") is not None and importlib.util.find_spec("jaxlib") is not None


def run(training: Training, layouts: Sequence[Layout], nranks: int = 8, explicit: bool = False) -> Session:
    """Train under every layout, on `nranks` virtual devices. explicit: axes of type Explicit, on which JAX refuses to guess.

    ValueError before anything starts for sizes that do not divide and for what is not plain gradient descent in float64 on the MLP;
    NoJaxError without JAX.
    """
    if training.optimizer != "sgd" or training.dtype != torch.float64:
        raise ValueError(f"JAX trains here in float64 with sgd, got {training.dtype} and {training.optimizer!r}")
    for layout in layouts:
        layout.check(training, nranks)
    if not installed():
        raise NoJaxError(f"JAX is not installed; {REMEDY}")
    told = _asked(_job(training, layouts, nranks, explicit), nranks)
    answers = tuple(_answer(training, *pair) for pair in zip(layouts, told["layouts"], strict=True))
    return Session(told["jax"], nranks, told["import_seconds"], answers)


def blocks(npairs: Sequence[int], nranks: int) -> dict[int, tuple[Compiled, float]]:
    """The residual blocks of `blocks.pairs` where only the matrices are annotated: of each number of pairs what was compiled, and the loss.

    NoJaxError without JAX.
    """
    if not installed():
        raise NoJaxError(f"JAX is not installed; {REMEDY}")
    told = _asked(
        {"nranks": nranks, "layouts": [], "blocks": [[t.tolist() for t in drawn(n, "cpu")] for n in npairs]}, nranks
    )
    answers = ((parse_hlo_collectives(one["text"]), one["loss"]) for one in told["blocks"])
    return dict(zip(npairs, answers, strict=True))


def _job(training: Training, layouts: Sequence[Layout], nranks: int, explicit: bool) -> dict[str, Any]:
    depth = training.model.depth
    return {
        "nranks": nranks,
        "lr": RATES["sgd"] if training.lr is None else training.lr,
        "params": [p.tolist() for p in training.params().values()],
        "data": [[one.tolist() for one in training.data(step)] for step in range(training.steps)],
        "layouts": [
            {
                "axes": one.axes,
                "sizes": one.sizes(nranks),
                "batch": one.batch,
                "weights": [one.weight(i) for i in range(depth)],
                "outputs": [one.output(i) for i in range(depth)],
                "gathered": one.gathered,
                "remat": one.remat,
                "explicit": explicit,
            }
            for one in layouts
        ],
    }


@aloud("JAX compiles and runs in a process of its own")
def _asked(job: dict[str, Any], nranks: int) -> dict[str, Any]:
    """Start the program, give it the job, wait. -P: its folder is not on its path."""
    flags = f"--xla_force_host_platform_device_count={nranks}"
    place = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-P", str(PROGRAM)]
    try:
        done = subprocess.run(
            command, input=json.dumps(job), capture_output=True, text=True, env=place, timeout=DEADLINE, check=False
        )
    except subprocess.TimeoutExpired:
        raise NoJaxError(f"JAX's process did not end within {DEADLINE:g} s") from None
    if done.returncode:
        raise NoJaxError(f"JAX's process ended with {done.returncode}: {(done.stderr.strip() or 'no word')[-600:]}")
    return json.loads(done.stdout)


def _answer(training: Training, layout: Layout, told: dict[str, Any]) -> Answer:
    if "refused" in told:
        return Answer(layout, refused=told["refused"])
    names = training.params()
    params = {name: torch.tensor(w, dtype=training.dtype) for name, w in zip(names, told["params"], strict=True)}
    text = told["text"]
    found = parse_hlo_collectives(text)
    return Answer(layout, Trained(told["losses"], params), found, text, len(_PRODUCT.findall(text)), told["temporary"])
