"""Three models whose training step others ran on a GPU and published the peak of, and what is predicted for the same step.

The measured bytes are those of helpers.facts.public("optimum-benchmark-training"). The models are written with torch.nn, parameter for
parameter as large as the published ones. Chapter: training-memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from helpers.facts import public

from .models import build
from .predict import Prediction, predict_step

WIDTH, HEADS, LAYERS = 768, 12, 12  # of all three


@dataclass(frozen=True)
class Published:
    """One model: what its step was predicted to take, and what max_memory_allocated said (bytes)."""

    name: str
    predicted: Prediction
    measured: int

    @property
    def unseen(self) -> int:
        """Bytes that the GPU held and the prediction has not: workspaces inside kernels, and whatever the script kept beside."""
        return self.measured - self.predicted.peak.nbytes


class Bert(nn.Module):
    """BERT-base with its head for masked words, which reads the table of words: 109,514,298 parameters. Returns the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.positions, self.kinds = (nn.Embedding(n, WIDTH) for n in (30522, 512, 2))
        self.norm = nn.LayerNorm(WIDTH)
        self.encoder = _encoder(norm_first=False)
        self.transform = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.LayerNorm(WIDTH))
        self.head = nn.Linear(WIDTH, 30522)
        self.head.weight = self.words.weight

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], dtype=torch.int64, device=tokens.device)
        x = self.norm(self.words(tokens) + self.positions(places) + self.kinds(torch.zeros_like(tokens)))
        logits = self.head(self.transform(self.encoder(x)))
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Vit(nn.Module):
    """ViT-base for pictures of 224 x 224 in patches of 16 x 16 and 1,000 classes: 86,567,656 parameters. Returns the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 16, 16)
        self.first = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.positions = nn.Parameter(torch.zeros(1, 1 + (224 // 16) ** 2, WIDTH))
        self.encoder = _encoder(norm_first=True)
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 1000)

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
    """All three, predicted: fp32, foreach AdamW, two short samples. The peak is in the optimizer, so the batch hardly matters."""
    with torch.device("meta"):
        tokens, labels = torch.zeros(2, 16, dtype=torch.int64), torch.zeros(2, dtype=torch.int64)
        jobs = {
            "BERT-base": (Bert(), (tokens, tokens)),
            "GPT-2": (gpt2(), (tokens, tokens)),
            "ViT-base": (Vit(), (torch.zeros(2, 3, 224, 224), labels)),
        }
    return [Published(row["model"], _predict(*jobs[row["model"]]), row["max_allocated"]) for row in _rows()]


def _rows() -> tuple:
    return public("optimum-benchmark-training").rows


def _predict(model: nn.Module, inputs: tuple) -> Prediction:
    return predict_step(model, inputs=inputs, loss=lambda loss: loss, precision="fp32", optimizer="adamw-foreach")


def _encoder(norm_first: bool) -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(
        WIDTH, HEADS, 4 * WIDTH, activation="gelu", batch_first=True, norm_first=norm_first
    )
    return nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
