"""What Gloo computes wrongly without a word, refused or said before the call, in ranks that Ranks started. Chapter: primitives.

It reads as many elements as a tensor has from where its memory begins, whatever the strides, and a NaN gets lost in its maximum or
minimum (findings/gloo_strided_tensor.sh, findings/gloo_max_of_nan.sh; torch 2.11 to 2.15). NCCL's process group refuses such a tensor.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator

import torch
import torch.distributed as dist

from helpers.ranks.notes.reader_lines import caller

# The arguments whose strides Gloo does not heed; from all others torch copies first, or refuses them itself.
UNHEEDED = {
    "all_reduce": ("tensor",),
    "reduce": ("tensor",),
    "broadcast": ("tensor",),
    "reduce_scatter": ("output", "input_list"),
    "scatter": ("tensor", "scatter_list"),
    "all_to_all_single": ("output",),
}
# What a maximum or minimum is taken of.
REDUCED = {
    "all_reduce": ("tensor",),
    "reduce": ("tensor",),
    "reduce_scatter": ("input_list",),
    "reduce_scatter_tensor": ("input",),
    "reduce_scatter_single": ("input",),
}
SAID: dict = {}  # in this call, so that a loop says it once
EXTREMES = (dist.ReduceOp.MAX, dist.ReduceOp.MIN)


def guard(op: str, original: Callable) -> Callable | None:
    """A function of a call's arguments that raises or warns; None where the operation needs none."""
    strided, reduced = UNHEEDED.get(op, ()), REDUCED.get(op, ())
    if not strided and not reduced:
        return None
    names = tuple(inspect.signature(original).parameters)

    def check(args: tuple, kwargs: dict) -> None:
        given = dict(zip(names, args, strict=False)) | kwargs
        group = given.get("group")
        for tensor in _tensors(given, strided):
            if not tensor.is_contiguous() and not _dense(tensor) and _on_gloo(tensor, group):
                raise ValueError(_refused(op, tensor))
        if reduced and given.get("op") in EXTREMES:
            warn_of_nan(op, list(_tensors(given, reduced)), group)

    return check


def warn_of_nan(op: str, tensors: list[torch.Tensor], group: dist.ProcessGroup | None) -> None:
    """tensors: of which a maximum or a minimum is about to be taken."""
    floating = [tensor for tensor in tensors if tensor.is_floating_point() and tensor.numel()]
    if floating and _on_gloo(floating[0], group) and any(bool(tensor.max().isnan()) for tensor in floating):
        nans, numel = sum(int(tensor.isnan().sum()) for tensor in floating), sum(map(torch.Tensor.numel, floating))
        text = f"{op} on rank {dist.get_rank()}: NaN in {nans} of {numel} elements. In Gloo's maximum and minimum a NaN"
        text += " wins or gets lost by the order of the ranks: look for it with SUM."
        file, _, line = caller(sys._getframe(1)).rpartition(" line ")
        warnings.warn_explicit(text, RuntimeWarning, file, int(line or 0), registry=SAID)


def _tensors(given: dict, names: tuple[str, ...]) -> Iterator[torch.Tensor]:
    for name in names:
        value = given.get(name)
        for one in value if isinstance(value, list | tuple) else (value,):
            if isinstance(one, torch.Tensor) and one.layout == torch.strided:
                yield one


def _dense(tensor: torch.Tensor) -> bool:
    """In the order of images' channels, which NCCL takes, too."""
    return tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last)


def _on_gloo(tensor: torch.Tensor, group: dist.ProcessGroup | None) -> bool:
    if group is dist.GroupMember.NON_GROUP_MEMBER:
        return False
    return (group or dist.group.WORLD)._get_backend(tensor.device).name() == "gloo"


def _refused(op: str, tensor: torch.Tensor) -> str:
    return (
        f"{op} on rank {dist.get_rank()}: shape {tuple(tensor.shape)} with strides {tensor.stride()} is not contiguous. Gloo would"
        f" take the first {tensor.numel()} elements of its memory without a word; give x.contiguous(), and write the result back"
    )
