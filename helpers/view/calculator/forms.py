"""What the calculator's page must know, as plain data: the lists of kept tensors, the models' sizes, the devices, the recorded runs.

The page adds these lists up; it has no list of its own. Chapters: training-memory, too-big.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from helpers.facts import ACCELERATORS, MODELS, Model
from helpers.memory.closed_form import per_token
from helpers.memory.closed_form.activations import AROUND, CHECKPOINTS, INPUT, ends, start
from helpers.memory.closed_form.blocks import ATTENTIONS, block
from helpers.memory.closed_form.kept import RATIOS, WIDTHS, Kept, ratios, sizes
from helpers.memory.closed_form.moments import MOMENTS, named
from helpers.memory.closed_form.states import OPTIMIZERS, PRECISIONS
from helpers.memory.closed_form.temporaries import (
    BEFORE,
    CORRECTED,
    ROOT,
    WIDENED,
    forward_temporaries,
    freed_before,
    loss_temporaries,
    mlp_backward,
)
from helpers.memory.closed_form.terms import SAYS
from helpers.memory.closed_form.weights import RankWeights
from helpers.memory.sharding import Sharding

PREDICTED = Path(__file__).parents[3] / "recorded" / "memory-predictions.json"
TENSORS = (1, 2, 4, 8)
DEVICES = {name: int(device.hbm_capacity.quantity) for name, device in ACCELERATORS.items()}
STEPS = ("adamw", "adamw-foreach", "adamw-fused", "sgd")


def _row(item: Kept) -> list:
    """A kept tensor as the page reads it."""
    return [
        item.name,
        item.keeps,
        " ".join(item.shape),
        item.role,
        item.split,
        int(item.core),
        item.readers,
        item.source,
    ]


def _rows(items: tuple[Kept, ...]) -> list[list]:
    return [_row(item) for item in items]


def _model(model: Model) -> dict:
    """One model: its sizes, how it is trained (lists and the parameters of a rank), how it is served."""
    known = sizes(model, 1, 1)
    said = {"name": model.name, "layers": model.layers, "context": model.context, "nparams": model.nparams}
    said |= {"window": model.window, "learned": model.positions == "learned", "perToken": per_token(model, 1)}
    said["latent"] = [model.latent.rank, model.latent.rope] if model.latent else None
    if model.latent:
        return said | {"sizes": known, "ranks": {}}
    return said | {
        "sizes": known,
        "numbers": ratios(model),
        "grouped": model.kv_heads < model.heads,
        "ranks": {str(tensor): _rank(model, tensor) for tensor in TENSORS if not _odd(model, tensor)},
        "lists": {attention: _rows(block(model, attention)) for attention in ATTENTIONS}
        | {"around": [_rows(items) for items in (start(model), *ends(model))]}
        | {"mlp": _rows(mlp_backward(model)), "freed": _rows(freed_before(model))},
    }


def _odd(model: Model, tensor: int) -> bool:
    return any(size % tensor for size in (model.heads, model.kv_heads, model.ffn))


def _rank(model: Model, tensor: int) -> dict:
    """Parameters of one of `tensor` ranks: of a block, of the rest, the largest outside and inside, those with a gradient, those cast."""
    held = RankWeights(model, Sharding(tensor=tensor))
    block_, rest = held.units[-2:]
    return {
        "block": block_,
        "rest": rest,
        "largest": held.largest(),
        "named": named(held),
    }


@cache
def forms() -> dict:
    """Everything, once. Treat as read-only."""
    return {
        "models": [_model(model) for model in MODELS.values()],
        "widths": WIDTHS,
        "states": {name: PRECISIONS[name] for name in WIDTHS},
        "optimizers": {name: list(OPTIMIZERS[name]) for name in STEPS},
        "attentions": list(ATTENTIONS),
        "checkpoints": list(CHECKPOINTS),
        "moments": {name: row._asdict() for name, row in MOMENTS.items()},
        "around": list(AROUND.items()),
        "ratios": [[" ".join(shape), text] for shape, text in RATIOS.items()],
        "input": _row(INPUT),
        "forward": _rows(forward_temporaries("bf16")),
        "loss": _rows(loss_temporaries()),
        "copies": {"widened": WIDENED, "root": ROOT, "corrected": CORRECTED, "before": BEFORE},
        "devices": DEVICES,
        "sources": {name: [source.title, source.url] for name, source in SAYS.items()},
        "predicted": json.loads(PREDICTED.read_text(encoding="utf-8")),
    }
