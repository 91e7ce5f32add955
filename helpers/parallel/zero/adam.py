"""AdamW on the elements that a rank owns, and on no others. Chapter: too-big."""

from __future__ import annotations

import math

import torch


class Adam:
    """torch.optim.AdamW's arithmetic on one flat tensor, bit for bit, with the step count as a plain number.

    share: this rank's elements of the parameters. State: m and v in float32, and a float32 copy of the share where it has fewer
    bytes: 12 bytes per element with bf16 parameters, 8 with fp32. A float64 share keeps float64 states, 16 bytes per element.
    """

    def __init__(self, share: torch.Tensor, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), decay=0.01):
        self.share, self.lr, self.betas, self.decay, self.eps, self.count = share, lr, betas, decay, 1e-8, 0
        wide = torch.promote_types(share.dtype, torch.float32)
        self.master = share.to(wide)  # the share itself where it is as wide
        self.m = torch.zeros_like(share, dtype=wide)
        self.v = torch.zeros_like(share, dtype=wide)

    @property
    def state(self) -> list[torch.Tensor]:
        """The tensors that this optimizer holds beside the parameters."""
        return [self.m, self.v] + ([] if self.master is self.share else [self.master])

    @torch.no_grad()
    def step(self, grad: torch.Tensor) -> None:
        """One update of the share. grad: of the same elements, any float dtype."""
        grad, (beta1, beta2) = grad.to(self.m.dtype), self.betas
        self.count += 1
        self.master.mul_(1 - self.lr * self.decay)
        self.m.lerp_(grad, 1 - beta1)
        self.v.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        scale = (self.v.sqrt() / math.sqrt(1 - beta2**self.count)).add_(self.eps)
        self.master.addcdiv_(self.m, scale, value=-self.lr / (1 - beta1**self.count))
        if self.master is not self.share:
            self.share.copy_(self.master)
