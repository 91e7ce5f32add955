"""How the result of an elementwise operator lies in memory, by torch's rules, without asking torch. Chapter: too-big.

torch goes by its operands' strides (TensorIterator; torch/_prims_common, compute_elementwise_output_logical_to_physical_perm): row by
row where none of them goes up, else in the order of the first that decides. Where that is not plain, these functions say None.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, reduce
from itertools import zip_longest

import torch
from torch import Tensor


def elementwise(args: tuple) -> Tensor | None:
    """An empty tensor with the shape, strides and type of the result, or None where the answer is not plain."""
    tensors = [arg for arg in args if isinstance(arg, Tensor)]
    first = tensors[0]
    if any(not t.is_meta or not t.is_floating_point() for t in tensors) or any(
        isinstance(arg, complex) for arg in args
    ):
        return None
    dtype = first.dtype
    if any(t.dtype != dtype for t in tensors):
        if not all(t.dim() for t in tensors):  # a single number gives way to the others' type
            return None
        dtype = reduce(torch.promote_types, (t.dtype for t in tensors))
    return _laid_out(tensors, dtype)


def compared(args: tuple) -> Tensor | None:
    """As elementwise: of two tensors, whether it is so."""
    plain = all(isinstance(arg, Tensor) and arg.is_meta for arg in args)
    return _laid_out(args, torch.bool) if plain else None


def _laid_out(tensors: Sequence[Tensor], dtype: torch.dtype) -> Tensor | None:
    first, shape = tensors[0], tensors[0].shape
    if any(t.shape != shape for t in tensors):
        shape = broadcast(*(t.shape for t in tensors))
    if all(in_order(t) for t in tensors):
        return torch.empty(shape, dtype=dtype, device="meta")
    strides = _in_the_order_of(first) if first.shape == shape else None
    return None if strides is None else torch.empty_strided(shape, strides, dtype=dtype, device="meta")


@cache
def broadcast(*shapes: torch.Size) -> torch.Size:
    """torch's own takes 150 us, and loads its compiler first."""
    wide = [{n for n in sizes if n != 1} or {1} for sizes in zip_longest(*map(reversed, shapes), fillvalue=1)]
    if any(len(sizes) > 1 for sizes in wide):
        return torch.broadcast_shapes(*shapes)  # says what does not fit
    return torch.Size(sizes.pop() for sizes in reversed(wide))


def dense(tensor: Tensor) -> bool:
    """No gap and no overlap: the strides are those of some order of the dimensions."""
    expected = 1
    for stride, size in sorted((st, n) for n, st in zip(tensor.shape, tensor.stride(), strict=True) if n != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def _in_the_order_of(tensor: Tensor) -> list[int] | None:
    """Strides without gaps for its dimensions in the order of its own strides, where these say one: an elementwise result has them."""
    strides, shape = tensor.stride(), tensor.shape
    if 0 in strides or len({*strides}) < len(strides):
        return None
    found, step = [0] * len(shape), 1
    for i in sorted(range(len(shape)), key=strides.__getitem__):
        found[i] = step
        step *= shape[i]
    return found


def in_order(tensor: Tensor) -> bool:
    """Strides never rise from left to right: then an elementwise result is laid out row by row. Broadcast dims do not count."""
    last = None
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        if size == 1 or stride == 0:
            continue
        if last is not None and stride > last:
            return False
        last = stride
    return True
