"""Operators that torch takes apart on meta tensors though a CPU or a GPU has a kernel for them: here stands what that one keeps and makes.

They are apart before the tracker hears of them, so they are caught above, at autograd's key. So nobody passes by, however he came by the
function. (As torch's dispatcher tells it, 2.11 to 2.15: composite, with a CPU kernel, are attention, mish's backward and a channel shuffle
that only mobile builds call; a CPU's attention is a kernel of other name.) Chapters: training-memory, too-big.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from helpers.patches import COMPOSITE

_standing: list[torch.library.Library] = []


@contextmanager
def with_kernels(attention: Callable[..., Tensor]) -> Iterator[None]:
    """Inside, these operators on meta tensors are kernels, attention that one; it may be nested, and the outermost stays."""
    if _standing:
        yield
        return
    library = torch.library.Library("aten", "IMPL")
    COMPOSITE.of_operator(library, "scaled_dot_product_attention", attention)
    COMPOSITE.of_operator(library, "mish_backward", _mish_backward)
    _standing.append(library)
    try:
        yield
    finally:
        _standing.pop()._destroy()


def _mish_backward(grad: Tensor, x: Tensor) -> Tensor:
    return torch.empty_like(x)
