"""What Hugging Face's Trainer does around a model when it is told bf16=True: the loss, the outputs in fp32, the clipping.

- transformers, loss/loss_utils.py, ForCausalLMLoss: the logits are copied to fp32, the labels shifted in a padded copy, and the sum is
  divided by the number of labels;
- accelerate, utils/operations.py, convert_outputs_to_fp32 (at 16cb6eb): every 16-bit output is copied to fp32, so the logits once more,
  though nobody reads them; both copies go when the loss has been taken out;
- transformers, training_args.py (at 00349ae): fused AdamW, and gradients clipped to a norm of 1.

The model is ours: Hugging Face's own Llama keeps more (an RMS norm written out in fp32). An nn.Module of theirs can be given instead.
Chapter: training-memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

import torch
from torch import Tensor, nn
from torch.nn import functional as F

IGNORED = -100
HALF = (torch.float16, torch.bfloat16)


def causal_loss(logits: Tensor, labels: Tensor, count: Tensor) -> Tensor:
    """logits [batch, tokens, vocab]; labels [batch, tokens], of which each token predicts the next one; count: labels in the batch."""
    logits = logits.float()
    labels = F.pad(labels, (0, 1), value=IGNORED)
    shifted = labels[..., 1:].contiguous()
    rows = logits.view(-1, logits.shape[-1])
    return F.cross_entropy(rows, shifted.view(-1), ignore_index=IGNORED, reduction="sum") / count


def forward(
    model: nn.Module, tokens: Tensor, labels: Tensor, count: Tensor, around: Callable[[], AbstractContextManager]
) -> Tensor:
    """The loss of a model that gives logits. around: autocast."""
    with around():
        logits = model(tokens)
        loss = causal_loss(logits, labels, count)
    _outputs = in_fp32({"loss": loss, "logits": logits})
    return loss


def in_fp32(output: object) -> object:
    """Tensors of 16 bits in fp32, in nests of tuples, lists and mappings; all else as it is."""
    if isinstance(output, Tensor):
        return output.float() if output.dtype in HALF else output
    if isinstance(output, Mapping):
        return {key: in_fp32(one) for key, one in output.items()}
    return type(output)(map(in_fp32, output)) if isinstance(output, tuple | list) else output


def clip(model: nn.Module) -> None:
    """max_grad_norm=1.0."""
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
