"""Training steps that others ran on a GPU and published the peak of, and what is predicted for the same steps.

The measured bytes are those of helpers.facts.public: "optimum-benchmark-training" (the optimizer decides) and "vit-large-training"
(activations decide). The models are written with torch.nn, parameter for parameter as large as the published ones.
Chapter: training-memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from unittest import mock

import torch
from torch import Tensor, nn
from torch.nn import functional

from helpers.facts import public
from helpers.step.models import build

from .fast_meta import SHAPES, flash
from .predict import Prediction, predict_step

BASE = (768, 12, 12)  # width, heads, layers
LARGE = (1024, 16, 24)
FLASH = torch.ops.aten._scaled_dot_product_flash_attention.default


@dataclass(frozen=True)
class Published:
    """One run: what its steps were predicted to take, and what torch.cuda said, in bytes.

    max_reserved, max_allocated: the peaks that were written down; max_allocated is None where only the other one was.
    """

    name: str
    predicted: Prediction
    max_reserved: int
    max_allocated: int | None = None

    @property
    def blocks(self) -> int:
        """Predicted max_memory_allocated."""
        return self.predicted.allocated

    @property
    def segments(self) -> int:
        """Predicted max_memory_reserved."""
        return self.predicted.reserved


class Bert(nn.Module):
    """BERT-base with its head for masked words, which reads the table of words: 109,514,298 parameters. Returns the loss."""

    def __init__(self) -> None:
        super().__init__()
        width = BASE[0]
        self.words, self.positions, self.kinds = (nn.Embedding(n, width) for n in (30522, 512, 2))
        self.norm = nn.LayerNorm(width)
        self.encoder = _encoder(*BASE)
        self.transform = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))
        self.head = nn.Linear(width, 30522)
        self.head.weight = self.words.weight

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], dtype=torch.int64, device=tokens.device)
        x = self.norm(self.words(tokens) + self.positions(places) + self.kinds(torch.zeros_like(tokens)))
        logits = self.head(self.transform(self.encoder(x)))
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Vit(nn.Module):
    """A vision transformer for pictures of 224 x 224 in patches of 16 x 16. Returns the loss.

    BASE with 1,000 classes has 86,567,656 parameters, LARGE with ten 303,311,882.
    """

    def __init__(self, width: int, heads: int, layers: int, classes: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.zeros(1, 1 + (224 // 16) ** 2, width))
        self.encoder = _encoder(width, heads, layers, dropout=0.0, norm_first=True)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, pictures: Tensor, targets: Tensor) -> Tensor:
        patches = self.patches(pictures).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(pictures), -1, -1), patches], 1) + self.positions
        return functional.cross_entropy(self.head(self.norm(self.encoder(x))[:, 0]), targets)


def gpt2() -> nn.Module:
    """GPT-2 with what the published one keeps beside its parameters: a causal mask of one byte an element in each layer."""
    model = build("GPT-2", attention="math", dropout=0.1)
    for layer in model.layers:
        layer.register_buffer("mask", torch.ones(1, 1, 1024, 1024, dtype=torch.bool, device="meta"))
    return model


def published() -> list[Published]:
    """Three small models: fp32, foreach AdamW, two short samples. The peak is in the optimizer, so the batch hardly matters.

    Those reports name none of these: batch and tokens are the benchmark's default, optimizer and precision those of the Trainer
    that it runs.
    """
    with torch.device("meta"):
        tokens, labels = torch.zeros(2, 16, dtype=torch.int64), torch.zeros(2, dtype=torch.int64)
        jobs = {
            "BERT-base": (Bert(), (tokens, tokens)),
            "GPT-2": (gpt2(), (tokens, tokens)),
            "ViT-base": (Vit(*BASE, classes=1000), (torch.zeros(2, 3, 224, 224), labels)),
        }
    rows = public("optimum-benchmark-training").rows
    return [
        Published(row["model"], _predict(*jobs[row["model"]]), row["max_reserved"], row["max_allocated"])
        for row in rows
    ]


def published_large(old_flash: bool = True, rows: slice = slice(None)) -> list[Published]:
    """ViT-L/16 with many pictures, in three precisions: activations decide, and the last step's gradients live through forward.

    As PyTorch of June 2023 ran it (flash_of_2023); old_flash=False: as today's would. rows: only these of the table.
    """
    with torch.device("meta"):
        model = Vit(*LARGE, classes=10)
    made = []
    for row in public("vit-large-training").rows[rows]:
        pictures = torch.zeros(row["batch"], 3, 224, 224, device="meta")
        inputs = (pictures, torch.zeros(row["batch"], dtype=torch.int64, device="meta"))
        with mock.patch.dict(SHAPES, {FLASH: flash_of_2023} if old_flash else {}):
            done = _predict(model, inputs, precision=row["precision"], zero_grad="before backward")
        made.append(Published(f"{row['precision']}, {row['batch']} pictures", done, row["max_reserved"]))
    return made


def flash_of_2023(q: Tensor, k: Tensor, v: Tensor, *_: object, **__: object) -> tuple:
    """Flash attention before FlashAttention-2 came into PyTorch: its output lies batch first, whatever the order of the query.

    nn.MultiheadAttention goes tokens first, so it copied that output in every block. (ATen/native/transformers/cuda/attention.cu of
    PyTorch 2.0: q, k and v become [batch * tokens, heads, d], and the output is made like q.)
    """
    batch, heads, tokens, _ = q.shape
    out = torch.empty(batch, tokens, heads, v.shape[-1], dtype=q.dtype, device="meta").transpose(1, 2)
    return out, *flash(q, k, v)[1:]


def _predict(model: nn.Module, inputs: tuple, precision: str = "fp32", **how: str) -> Prediction:
    given = {"inputs": inputs, "loss": lambda loss: loss, "optimizer": "adamw-foreach"}
    return predict_step(model, precision=precision, **given, **how)


def _encoder(
    width: int, heads: int, layers: int, dropout: float = 0.1, norm_first: bool = False
) -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(
        width, heads, 4 * width, dropout, activation="gelu", batch_first=True, norm_first=norm_first
    )
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
