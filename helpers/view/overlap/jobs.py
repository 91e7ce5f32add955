"""What one GPU computes and sends in a step of data parallel training, tensor by tensor: the closed forms' matrices. Chapter: overlap.

A matrix is multiplied with every token: two operations a weight in forward, four in backward, at a share of the datasheet's rate.
Tables, norms and biases take no time here, and attention's scores are not counted. Everything travels in bf16.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from helpers.collectives import CATALOGUE, price
from helpers.facts import ACCELERATORS, LINKS, MODELS, Model
from helpers.memory.closed_form.weights import Weight, block_weights, first_weights, last_weights
from helpers.overlap import Unit
from helpers.view.overlap.ways import ways

OFFERED = ("GPT-2", "GPT-2-XL", "Llama-2-7B", "Llama-3-8B", "Llama-2-13B")
GPUS = ("A100", "H100", "H200", "B200")
NRANKS = 8
WIDTH = 2  # bytes of a number on the wire, bf16
FORWARD, BACKWARD = 2, 4  # operations for each weight and token
LOOKED_UP = ("embedding", "positions")
Part = list[list[int]]  # [numel, 1 where it multiplies], in the order of forward


def multiplies(weight: Weight) -> bool:
    """A matrix product; not a table to look up, a norm or a bias."""
    return weight.name not in LOOKED_UP and not weight.name.endswith(("norm", "bias"))


def part(weights: Sequence[Weight]) -> Part:
    """Tensor by tensor, as the page knows them."""
    return [[weight.numel, int(multiplies(weight))] for weight in weights for _ in range(weight.times)]


@cache
def job(name: str) -> dict:
    """{"layers", "first", "block", "last"}: tensors before, in and behind the blocks; tied: weights of a head that is the embedding."""
    model = MODELS[name]
    return {
        "layers": model.layers,
        "first": part(first_weights(model)),
        "block": part(block_weights(model)),
        "last": part(last_weights(model)),
        "tied": _tied(model),
    }


def _tied(model: Model) -> int:
    return model.vocab * model.hidden if model.tied else 0


def known() -> dict:
    """What the page computes with: the models, and dense bf16 operations a second of each GPU; and the recorded steps."""
    return {
        "recorded": ways(),
        "models": {name: job(name) for name in OFFERED},
        "rates": {gpu: ACCELERATORS[gpu].peak("bf16").quantity for gpu in GPUS},
    }


def backwards(name: str, tokens: int, rate: float) -> list[tuple[float, int]]:
    """(seconds, bytes of gradients) of every tensor, in the order of backward; rate: operations a second."""
    own = job(name)
    tensors = [*own["first"], *(own["block"] * own["layers"]), *own["last"]]
    head = [(BACKWARD * own["tied"] * tokens / rate, 0)] if own["tied"] else []
    return head + [(BACKWARD * numel * on * tokens / rate, WIDTH * numel) for numel, on in reversed(tensors)]


def units(name: str, tokens: int, rate: float) -> list[Unit]:
    """What is gathered, computed and dropped together: the tables, every block, and the head with its norm."""
    own = job(name)
    sizes = [own["first"], *([own["block"]] * own["layers"]), own["last"]]
    found = []
    for place, tensors in enumerate(sizes):
        weights = sum(numel * on for numel, on in tensors) + (own["tied"] if place == len(sizes) - 1 else 0)
        nbytes = WIDTH * sum(numel for numel, _ in tensors)
        found.append(Unit(FORWARD * weights * tokens / rate, BACKWARD * weights * tokens / rate, nbytes))
    return found


@cache
def seconds_of(collective: str, link: str, nbytes: int) -> float:
    """A ring of NRANKS GPUs, priced, at what NCCL reaches of the link."""
    return price(CATALOGUE[collective, "ring"](NRANKS), nbytes, LINKS[link].achievable).seconds
