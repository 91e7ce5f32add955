"""What the forward pass keeps for backward: the blocks' lists, added up, and the two ends of the model.

Chapters: training-memory, too-big; the memory calculator.
"""

from __future__ import annotations

from helpers.facts import MODELS, Model
from helpers.memory.closed_form.blocks import block, norm
from helpers.memory.closed_form.kept import WIDTHS, Kept, kept, operators, ratios, sizes, spell
from helpers.memory.closed_form.terms import FormError, Term, Terms, one_of, whole
from helpers.memory.sharding import ALONE, Sharding

CHECKPOINTS = ("none", "selective", "full")
# What is kept once, before the blocks and after them, in order: does it stay while they go backward?
AROUND = {"positions": True, "final norm": False, "head": False, "loss": False}
INPUT = kept("checkpoint", "the block's input, the residual stream", "b s h", "stream")
TURNS = ("cosine", "sine")
HEAD = kept("head", "its input", "b s h")
LOSS = kept("cross entropy", "the log of the softmax, in fp32", "b s V", "fp32", "tensor", source="torch-cross-entropy")


def known(model: Model | str) -> Model:
    """A model of helpers.facts.MODELS by its name, or a Model as it is. FormError naming those there are."""
    if isinstance(model, Model):
        return model
    if model not in MODELS:
        raise FormError(f"model must be one of {', '.join(MODELS)}, got {model!r}")
    return MODELS[model]


def kernel(model: Model, attention: str, precision: str) -> str:
    """What torch takes on CUDA for "flash": in fp32 the memory-efficient kernel, which keeps the same, but not with grouped heads."""
    grouped = model.kv_heads < model.heads
    return "math" if attention == "flash" and precision == "fp32" and grouped else attention


def kept_by_block(
    model: Model, attention: str = "flash", checkpoint: str = "none", dropout: float = 0.0
) -> tuple[Kept, ...]:
    """What one block keeps until its backward. Full checkpointing: its input. Selective: all but attention's core."""
    one_of(CHECKPOINTS, checkpoint=checkpoint)
    if checkpoint == "full":
        return (INPUT,)
    items = block(model, attention, dropout)
    return tuple(item for item in items if not (checkpoint == "selective" and item.core))


def start(model: Model, dropout: float = 0.0) -> tuple[Kept, ...]:
    """What is kept once before the blocks. The tokens themselves are the input."""
    if model.positions == "rotary":
        return tuple(
            kept("rotary positions", f"the {name} of every angle", "s d/2", source="llama-2") for name in TURNS
        )
    mask = (kept("embedding dropout", "its mask", "b s h", "mask"),) if dropout else ()
    return (kept("positions", "which they are", "s", "index", source="gpt-2"), *mask)


def ends(model: Model) -> tuple[tuple[Kept, ...], ...]:
    """What is kept after the last block, as AROUND names it."""
    return norm(model, "final norm"), (HEAD,), (LOSS,)


def activations(
    model: Model | str,
    batch: int = 1,
    seq: int | None = None,
    precision: str = "bf16",
    attention: str = "flash",
    checkpoint: str = "none",
    dropout: float = 0.0,
    sharding: Sharding = ALONE,
) -> Terms:
    """Bytes kept after one micro-batch's forward on one rank: its blocks, the final norm, the head and the loss.

    seq: tokens of a sequence, the model's context unless told. attention "math" writes the scores out, "flash" does not.
    FormError for what the model cannot be, ShardingError for what its ranks cannot share.
    """
    model = known(model)
    seq = model.context if seq is None else seq
    whole(batch=batch, seq=seq)
    one_of(tuple(WIDTHS), precision=precision)
    sharding.closed()
    sharding.check(model, seq)
    items = kept_by_block(model, kernel(model, attention, precision), checkpoint, dropout)
    values, how = sizes(model, batch, seq // sharding.context), (precision, sharding.tensor, sharding.sequence)
    layers = len(sharding.layers(model))
    name = "block inputs" if checkpoint == "full" else "blocks"
    per_layer = spell(items, ratios(model), *how)
    blocks = Term(name, "activation", f"L b s h ({per_layer})", operators(items, values, *how), layers, "korthikanti")
    around = zip(AROUND, (start(model, dropout), *ends(model)), strict=True)
    others = (_around(name, listed, values, how) for name, listed in around)
    return Terms(f"Activations of {model.name}, batch {batch}, {seq:,} tokens, {precision}", (blocks, *others))


def _around(name: str, items: tuple[Kept, ...], values: dict[str, int], how: tuple[str, int, bool]) -> Term:
    """A term of its own, named by its largest tensor."""
    listed = operators(items, values, *how)
    return Term(name, "activation", max(listed, key=lambda one: one.nbytes).formula, listed, 1, items[-1].source)
