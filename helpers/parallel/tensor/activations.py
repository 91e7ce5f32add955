"""What a rank keeps of activations from forward to backward: tracked, and on paper. Chapter: tensor-parallel.

The deep MLP. A linear map keeps its input, for the gradient of its weight; a GELU keeps its own input; the loss keeps the error.
With n = batch * width elements, P ranks and L layers:

    way         kept                                            checkpointed: inputs of layers, and the error
    gathered    L n + (L - 1) n/P + n                           L n + n
    pairs       L n + L n/P                                     L/2 (n + n/P) + n
    sequence    L/2 (n + 3 n/P) - n/P + n                       n + (L - 1) n/P + n

The transformer, in "pairs" and "sequence". With n = batch * seq * width, kv and f as shares of n (keys, and the MLP's hidden numbers),
and r = batch * seq rows, a block keeps

    two norms       2 (2 n + r), under "sequence" a P-th of it: their inputs, what they normalised, 1/rms of every row
    two pairs       2 n, whole: what the maps behind the norms read
    inside pairs    (2 n + 2 kv n + heads r + 2 f n) / P: q, attention's result, k, v, its logarithms, GELU's input and result

So cutting matrices alone leaves whole activations on every rank, and "sequence" cuts what lies between pairs. It keeps what it
gathers, too: Korthikanti et al. keep the part and gather once more in backward, which checkpointing does here.
The norm is torch's on a CPU, which keeps what it normalised; a fused one keeps its input alone (helpers.memory.closed_form).
"""

from __future__ import annotations

from fractions import Fraction

import torch.distributed as dist

from helpers.parallel.model import MLP, Model, Transformer
from helpers.parallel.reference import Training
from helpers.parallel.strategy import watched

from .cuts import check
from .divided import Divided

AFTER_FORWARD = "after forward"
INDEX = 8  # bytes of a token's number


def kept(training: Training, way: str, checkpoint: bool = False) -> int:
    """Inside a rank: bytes of activations alive after one forward, by the tracker. All ranks are one tensor parallel group."""
    model = Divided(training.model, dist.group.WORLD, way, checkpoint)
    params = model.slices(training.params())
    with watched(model, params) as watch:
        x, y = training.data(0)
        loss = model.loss(model.forward(params, x), y)
        watch.tracker.mark(AFTER_FORWARD)
        loss.backward()
    return watch.tracker.trace.at(AFTER_FORWARD)["activation"]


def predicted(training: Training, nranks: int, way: str, checkpoint: bool = False) -> Fraction:
    """The tables above, in bytes. ValueError for other models and ways than they have, and as `cuts.check`."""
    model, batch = training.model, training.batch
    check(model, way, nranks, batch)
    if isinstance(model, MLP):
        return _mlp(model, nranks, way, checkpoint) * batch * model.width * training.itemsize
    if way == "gathered":
        raise ValueError("the table of the transformer has pairs and sequence, got 'gathered': take the MLP for that")
    return _transformer(training, model, nranks, way == "sequence", checkpoint)


def _mlp(model: MLP, nranks: int, way: str, checkpoint: bool) -> Fraction:
    """In units of n."""
    layers, part = model.layers, Fraction(1, nranks)
    whole = {
        "gathered": layers + (layers - 1) * part + 1,
        "pairs": layers + layers * part,
        "sequence": Fraction(layers, 2) * (1 + 3 * part) - part + 1,
    }
    again = {
        "gathered": layers + 1,
        "pairs": Fraction(layers, 2) * (1 + part) + 1,
        "sequence": 1 + (layers - 1) * part + 1,
    }
    return Fraction((again if checkpoint else whole)[way])


def _transformer(training: Training, model: Transformer, nranks: int, sequence: bool, checkpoint: bool) -> Fraction:
    rows = training.batch * model.seq
    n, norm = rows * model.width, 2 * rows * model.width + rows
    shared = nranks if sequence else 1
    block = (
        Fraction(n, shared) if checkpoint else Fraction(2 * norm, shared) + 2 * n + block_inside(model, rows, nranks)
    )
    # The last norm, the head's input, the loss's logarithms, and what it divides by
    ends = norm + n + rows * model.vocab + 1
    return (model.layers * block + ends) * training.itemsize + tokens(training, model)


def block_inside(model: Transformer, rows: int, nranks: int) -> Fraction:
    """Elements that a block keeps inside its two pairs, on one of nranks."""
    n, kv, f = rows * model.width, Fraction(model.kv_heads, model.heads), Fraction(model.ffn, model.width)
    return (2 * n + 2 * kv * n + model.heads * rows + 2 * f * n) / nranks


def tokens(training: Training, model: Model) -> int:
    """Bytes of the batch as it is kept: x lies in a buffer with one token more a sample, y is one of its own."""
    return INDEX * training.batch * (model.seq + 1 + model.seq)
