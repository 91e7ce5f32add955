"""What a step is made of: the article's transformer, or one of any other size, and how it is trained.

Chapters: training-memory.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields

import torch
from torch import nn

from . import checkpointing, precision
from .autocasting import autocast

DEVICES = ("cpu", "cuda", "meta")
CHECKPOINTS = ("none", "matmuls", "full")
COUNTS = ("layers", "width", "heads", "ffn", "batch", "seq", "steps")


class RecipeError(ValueError):
    """A setting that no step can have; the message is one line and says what would do."""


@dataclass(frozen=True)
class Recipe:
    """One training step of nn.TransformerEncoder: its sizes, precision (precision.PRECISIONS), optimizer (precision.OPTIMIZERS).

    optimizer "": AdamW as torch runs it by default there, foreach on CUDA and a loop over parameters elsewhere. like_cuda: on the
    meta device, operators as CUDA chooses them. RecipeError for a setting that cannot be.
    """

    layers: int = 6
    width: int = 512
    heads: int = 8
    ffn: int = 2048
    batch: int = 32
    seq: int = 128
    dropout: float = 0.1
    precision: str = "fp32"
    optimizer: str = ""
    checkpoint: str = "none"
    device: str = "meta"
    like_cuda: bool = False
    steps: int = 1

    def __post_init__(self) -> None:
        for name in COUNTS:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise RecipeError(f"{name} is a whole number from 1 on, got {value!r}")
        if not 0 <= self.dropout < 1:
            raise RecipeError(f"dropout is a probability below 1, got {self.dropout!r}")
        if self.width % self.heads:
            raise RecipeError(f"width is a multiple of heads, got width {self.width} and {self.heads} heads")
        for name, known in (("precision", precision.PRECISIONS), ("checkpoint", CHECKPOINTS), ("device", DEVICES)):
            if getattr(self, name) not in known:
                raise RecipeError(f"{name} is one of {', '.join(known)}, got {getattr(self, name)!r}")
        if self.optimizer not in ("", *precision.OPTIMIZERS):
            raise RecipeError(f"optimizer is one of {', '.join(precision.OPTIMIZERS)}, got {self.optimizer!r}")
        if self.like_cuda and self.device != "meta":
            raise RecipeError(f"like_cuda is a prediction on the meta device, got device {self.device!r}")
        if self.device == "cuda" and not torch.cuda.is_available():
            raise RecipeError("device 'cuda' needs a CUDA GPU and a CUDA build of torch; like_cuda predicts it without")

    @property
    def how(self) -> str:
        """The optimizer's name; where none was chosen, torch's own choice on that device."""
        return self.optimizer or ("adamw-foreach" if self.like_cuda or self.device == "cuda" else "adamw")

    @property
    def label(self) -> str:
        """One line: what is trained, and where."""
        where = "meta, operators as on CUDA" if self.like_cuda else self.device
        kept = "" if self.checkpoint == "none" else f", checkpointing {self.checkpoint}"
        sizes = f"{self.layers} layers, width {self.width}, {self.heads} heads, ffn {self.ffn}"
        step = f"batch {self.batch} x {self.seq} tokens, {self.precision}, dropout {self.dropout:g}, {self.how}{kept}"
        return f"{sizes}; {step}; {where}"

    def model(self) -> nn.Module:
        """The model, in training mode, its blocks checkpointed as asked."""
        made = article_model(self.layers, self.width, self.heads, self.ffn, self.dropout, self.device, self._dtype)
        return checkpointing.apply(made, self.checkpoint)

    def inputs(self) -> torch.Tensor:
        """[batch, seq, width] in the weights' type."""
        return torch.rand(self.batch, self.seq, self.width, device=self.device, dtype=self._dtype)

    def trainer(self, model: nn.Module) -> torch.optim.Optimizer:
        """The optimizer over the model's parameters."""
        return precision.optimizer(self.how, model.parameters(), self.precision)

    def casting(self) -> AbstractContextManager:
        """Around a forward: autocast, or nothing."""
        if self.precision != "autocast":
            return nullcontext()
        return autocast() if self.device == "meta" else torch.autocast(self.device, torch.bfloat16)

    def settings(self) -> dict[str, object]:
        """Plain data, the optimizer spelled out."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"optimizer": self.how}

    @property
    def _dtype(self) -> torch.dtype:
        return precision.PRECISIONS[self.precision]


def article_model(
    layers: int = 6,
    width: int = 512,
    heads: int = 8,
    ffn: int = 2048,
    dropout: float = 0.1,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> nn.TransformerEncoder:
    """The model of the article that this course grew from: post-norm, ReLU, batch first; 18,914,304 parameters as it stands."""
    where = {"device": device, "dtype": dtype}
    layer = nn.TransformerEncoderLayer(width, heads, ffn, dropout=dropout, batch_first=True, **where)
    return nn.TransformerEncoder(layer, layers)
