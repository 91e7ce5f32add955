"""One process trains: losses and parameters that every strategy is compared with. Chapter: data-parallel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from .checks import whole
from .model import MLP, Batch, Model, Params

OPTIMIZERS = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}
RATES = {"sgd": 0.1, "adamw": 1e-2}  # large enough that five steps change every digit
DTYPES = (torch.float64, torch.float32, torch.bfloat16)
# How far losses and parameters may be from single-process training after five steps. Ranks add in another order, so the last
# bits differ: at most 1e-10 in float64; in float32 1e-4; in bf16, with eight bits of mantissa, 0.05 (numbers are about 1).
TOLERANCES = {torch.float64: 1e-10, torch.float32: 1e-4, torch.bfloat16: 5e-2}


@dataclass(frozen=True)
class Training:
    """What is trained, on what, and how: every strategy's one argument. batch counts the samples of all ranks together.

    optimizer: "sgd" or "adamw", torch's own; lr None: RATES'. padded: samples of unequal length (Transformer only).
    ValueError for a setting that cannot be.
    """

    model: Model = field(default_factory=MLP)
    batch: int = 8
    steps: int = 5
    optimizer: str = "sgd"
    lr: float | None = None
    seed: int = 0
    dtype: torch.dtype = torch.float64
    padded: bool = False

    def __post_init__(self) -> None:
        whole("batch", self.batch)
        whole("steps", self.steps)
        if self.optimizer not in OPTIMIZERS:
            raise ValueError(f"optimizer is one of {', '.join(OPTIMIZERS)}, got {self.optimizer!r}")
        if self.dtype not in DTYPES:
            raise ValueError(f"dtype is one of {', '.join(map(str, DTYPES))}, got {self.dtype!r}")

    def params(self) -> Params:
        """The parameters before the first step, the same wherever it is called."""
        return self.model.init(self.seed, self.dtype)

    def data(self, step: int) -> Batch:
        """The global batch of a step."""
        return self.model.data(self.seed, step, self.batch, self.dtype, self.padded)

    def make_optimizer(self, params: Iterable[Tensor]) -> torch.optim.Optimizer:
        """torch's, a loop over parameters: the order of its arithmetic does not depend on the device."""
        rate = RATES[self.optimizer] if self.lr is None else self.lr
        return OPTIMIZERS[self.optimizer](params, lr=rate, foreach=False)

    @property
    def itemsize(self) -> int:
        """Bytes of one parameter."""
        return self.dtype.itemsize

    @property
    def tolerance(self) -> float:
        return TOLERANCES[self.dtype]

    def but(self, **changes: object) -> Training:
        """The same with some settings changed."""
        return replace(self, **changes)


@dataclass
class Trained:
    """What training leaves: the loss of the global batch at every step, and the whole parameters, by name.

    moved: helpers.parallel.counting.Moved of the steps on this rank; held: bytes between backward and step, by class of
    helpers.memory.trace, and peak: the most at any time (both from the tracker). None where nobody watched.
    """

    losses: list[float]
    params: dict[str, Tensor]
    moved: object | None = None
    held: dict[str, int] | None = None
    peak: int | None = None


def train(training: Training) -> Trained:
    """In this process alone: forward, backward, step, on the whole batch."""
    model, params = training.model, training.params()
    optimizer, losses = training.make_optimizer(params.values()), []
    for step in range(training.steps):
        x, y = training.data(step)
        loss = model.loss(model.forward(params, x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return Trained(losses, kept(params))


def step_counts(ntensors: int) -> int:
    """Bytes of AdamW's step counts: 4 for each tensor that it updates. They stay on the CPU, so beside a GPU's memory they are none."""
    return 4 * ntensors if torch.get_default_device().type == "cpu" else 0


def kept(params: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies on the CPU that outlive the rank."""
    return {name: p.detach().to("cpu", copy=True) for name, p in params.items()}


def difference(got: Trained, want: Trained) -> float:
    """The largest absolute difference of any loss and any parameter. ValueError where one has what the other lacks."""
    if got.params.keys() != want.params.keys() or len(got.losses) != len(want.losses):
        missing = sorted(got.params.keys() ^ want.params.keys())
        raise ValueError(
            f"compare equal trainings: {len(got.losses)} and {len(want.losses)} losses, only one has {missing}"
        )
    far = [abs(a - b) for a, b in zip(got.losses, want.losses, strict=True)]
    far += [(got.params[n].double() - want.params[n].double()).abs().max().item() for n in want.params]
    return max(far) if all(x == x for x in far) else float("nan")
