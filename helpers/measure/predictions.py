"""Predictions for the memory calculator: a run of predict_step for each model, batch, sequence and kind of checkpointing it may ask for.

    python -m helpers.measure.predictions

writes recorded/memory-predictions.json. Nothing in it depends on the machine or on chance: anybody gets the same bytes.
Chapters: training-memory, too-big.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

from helpers.facts import MODELS
from helpers.measure.predict.predict import predict_step

COMMAND = "python -m helpers.measure.predictions"
TARGET = Path(__file__).parents[2] / "recorded" / "memory-predictions.json"
BATCHES = (1, 4)
TOKENS = (1024, 4096)
CHECKPOINTS = ("none", "full")
HOW = {"precision": "bf16", "optimizer": "adamw", "attention": "flash"}
COLUMNS = ("model", "batch", "seq", "checkpoint", "peak", "phase", "module", "op", "by_class")


def questions() -> Iterator[tuple[str, int, int, str]]:
    """(model, batch, tokens, checkpoint) of every run; no latent attention, no more tokens than a model's learned positions."""
    for model in MODELS.values():
        if model.latent:
            continue
        for batch in BATCHES:
            for seq in TOKENS:
                if model.positions == "rotary" or seq <= model.context:
                    yield from ((model.name, batch, seq, checkpoint) for checkpoint in CHECKPOINTS)


def row(model: str, batch: int, seq: int, checkpoint: str) -> list:
    """One run, as COLUMNS has it: bytes at the peak, where it is, and bytes of every class there."""
    peak = predict_step(model, batch=batch, seq=seq, checkpoint=checkpoint, **HOW).peak
    by_class = {name: n for name, n in peak.by_class.items() if n}
    return [model, batch, seq, checkpoint, peak.nbytes, peak.phase, peak.module, peak.op, by_class]


def predictions() -> dict:
    """What the file holds."""
    about = {
        "label": "predicted (meta), CUDA's operators, second of two steps",
        "command": COMMAND,
        "machine": {"torch": torch.__version__.partition("+")[0], "device": "meta"},
    }
    return {**about, **HOW, "columns": list(COLUMNS), "rows": [row(*question) for question in questions()]}


def main(argv: list[str] | None = None) -> int:
    """Writes the file, a row a line."""
    argparse.ArgumentParser(prog=COMMAND, description=__doc__.partition("\n")[0]).parse_args(argv)
    made = predictions()
    rows = ",\n".join(json.dumps(one) for one in made.pop("rows"))
    head = json.dumps(made, indent=1)[:-2]
    TARGET.write_text(f'{head},\n "rows": [\n{rows}\n]}}\n', encoding="utf-8")
    print(f"{TARGET.name}: {len(rows.splitlines())} runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
