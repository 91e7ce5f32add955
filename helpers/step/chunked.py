"""Cross entropy in pieces, so that the logits of all tokens never stand in memory together: three ways, by who does it so.

"recompute": each piece's logits are thrown away and computed again in backward (torch's checkpoint around head and loss).
"torchtitan": ChunkedLossWrapper (components/loss.py at b5bcd76): each piece goes forward and backward at once, inside the forward of the
    model; the gradient of the stream is gathered in an fp32 buffer, and backward begins with it. A head under FSDP2 stays gathered from
    the first piece to the last, whose backward alone is followed by a reduction.
"liger": Liger-Kernel's fused linear cross entropy (ops/fused_linear_cross_entropy.py at ead96b6): one kernel turns a piece's logits into
    their gradient where they stand, and the gradients of stream and head are there when forward ends. It cuts the tokens itself, into
    pieces whose logits are about as large as the stream.

All give the gradients of the whole loss (tests). Chapters: training-memory, too-big.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils._python_dispatch import _disable_current_modes

CHUNKINGS = ("recompute", "torchtitan", "liger")


def cross_entropy(logits: Tensor, targets: Tensor, reduction: str = "mean") -> Tensor:
    """logits [..., vocab] in any type: computed in fp32. targets [...]."""
    return F.cross_entropy(logits.float().flatten(0, -2), targets.flatten(), reduction=reduction)


def recomputed(head: nn.Module, x: Tensor, targets: Tensor, chunks: int, again: Callable) -> Tensor:
    """x [batch, tokens, hidden], targets [batch, tokens] -> the mean loss. again: computes a piece a second time in backward."""

    def piece(x: Tensor, targets: Tensor) -> Tensor:
        return cross_entropy(head(x), targets, "sum")

    pieces = zip(x.chunk(chunks, 1), targets.chunk(chunks, 1), strict=True)
    return sum(again(piece, *one) for one in pieces) / targets.numel()


def at_once(head: nn.Module, x: Tensor, targets: Tensor, chunks: int) -> Tensor:
    """As torchtitan does it: backward of every piece before the next one's forward. It wants as many tokens in each piece.

    Two pieces' logits are there at a time: Python lets go of the last ones when the next ones have a name.
    """
    stream, places = x.flatten(0, -2), targets.flatten()
    if len(stream) % chunks:
        raise ValueError(f"chunking 'torchtitan' wants equal pieces: chunks divides {len(stream)} tokens, got {chunks}")
    leaves = [piece.detach().requires_grad_() for piece in stream.chunk(chunks)]
    found = torch.zeros_like(stream, dtype=torch.float32)
    total = stream.new_zeros((), dtype=torch.float32)
    each, answers = len(stream) // chunks, places.chunk(chunks)
    _hold(head)
    for i, (leaf, answer) in enumerate(zip(leaves, answers, strict=True)):
        if i == chunks - 1:
            _ask(head, "set_requires_gradient_sync", True, recurse=False)
        logits = head(leaf)
        loss = cross_entropy(logits, answer, "sum") / places.numel()
        total = total + loss.detach()
        loss.backward()
        found[i * each : (i + 1) * each] = leaf.grad.float()
        leaf.grad = None
    _let_go(head)
    return _Known.apply(stream, found.to(stream.dtype), total)


def _hold(head: nn.Module) -> None:
    """A head under FSDP2 is gathered, once, and its gradients wait: ChunkedLossWrapper's calls, in its order."""
    _ask(head, "set_reshard_after_forward", False)
    _ask(head, "set_reshard_after_backward", False)
    _ask(head, "set_requires_gradient_sync", False, recurse=False)
    _ask(head, "unshard")


def _let_go(head: nn.Module) -> None:
    """From now on its table goes after every forward, which before the first pieces it did not."""
    _ask(head, "set_reshard_after_forward", True)
    _ask(head, "set_reshard_after_backward", True)
    _ask(head, "set_requires_gradient_sync", True, recurse=False)
    _ask(head, "reshard")


def _ask(head: nn.Module, method: str, *args: bool, **options: bool) -> None:
    """A method that FSDP2 gives to its modules, and ZeRO in part; any other head has nothing to do."""
    getattr(head, method, _nothing)(*args, **options)


def _nothing(*_args: bool, **_options: bool) -> None: ...


class _Known(torch.autograd.Function):
    """A loss whose gradient is known already."""

    @staticmethod
    def forward(ctx, x: Tensor, grad: Tensor, loss: Tensor) -> Tensor:
        ctx.save_for_backward(grad)
        return loss.detach()

    @staticmethod
    def backward(ctx, one: Tensor):
        if not one.is_meta and one != 1:
            raise ValueError(
                f"chunking 'torchtitan' has the head's gradients already: no factor on its loss, got {one:g}"
            )
        return ctx.saved_tensors[0], None, None


def liger(head: nn.Linear, x: Tensor, targets: Tensor) -> Tensor:
    """x [batch, tokens, hidden], targets [batch, tokens] -> the mean loss."""
    return _Liger.apply(x.flatten(0, -2), head.weight, targets.flatten())


def liger_rows(tokens: int, hidden: int, vocab: int) -> int:
    """Tokens of a piece: a power of two, so that a piece's logits are at most about twice the stream."""
    return 2 ** (-(-tokens // -(-vocab // hidden)) - 1).bit_length()


class _Liger(torch.autograd.Function):
    """Without a bias, with reduction "mean" and gradients in the types of what they belong to, as Liger's defaults are."""

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
        rows = liger_rows(len(x), x.shape[1], weight.shape[0])
        of_x, of_weight = torch.zeros_like(x), torch.zeros_like(weight)
        losses = torch.zeros(len(x), dtype=torch.float32, device=x.device)
        for start in range(0, len(x), rows):
            piece = x[start : start + rows]
            logits = piece @ weight.t()
            in_place(logits, targets[start : start + rows], losses[start : start + rows], len(x))
            of_x[start : start + rows] = logits @ weight
            of_weight += torch.mm(logits.t(), piece).float()
        ctx.save_for_backward(of_x, of_weight)
        return losses.sum()

    @staticmethod
    def backward(ctx, one: Tensor):
        return *(grad.mul_(one) for grad in ctx.saved_tensors), None  # where they stand, as Liger does


def in_place(logits: Tensor, targets: Tensor, losses: Tensor, tokens: int) -> None:
    """One kernel: the logits become their gradient, and `losses` this piece's share of the mean. What it needs stays inside."""
    if logits.is_meta:
        return
    with _disable_current_modes():
        wide = logits.float()
        losses.copy_(F.cross_entropy(wide, targets, reduction="none") / tokens)
        wide = wide.softmax(-1)
        wide[torch.arange(len(wide), device=wide.device), targets] -= 1
        logits.copy_(wide / tokens)
