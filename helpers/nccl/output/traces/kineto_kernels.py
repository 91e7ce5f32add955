"""Which kernels of a GPU talk: NCCL's and RCCL's, and those that read and write the peers' memory themselves. Chapter: yours.

A kernel is known by what kineto wrote into it, by the operator that launched it, or by its own name. Names: torch's
csrc/distributed/c10d/symm_mem, vLLM's and sglang's custom all_reduce, TensorRT-LLM's and FlashInfer's fusions with a norm (which count as
talking), NVSHMEM, DeepEP, MSCCL, Transformer Engine's userbuffers, and NCCL's symmetric kernels. A matrix product that talks while it
computes (symm_mem::fused_*) counts as computing, and copies that an engine makes for a collective are not told apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from helpers.nccl.output.traces.kineto_events import KERNEL, Event

NAME = "Collective name"
OP_ID = "External id"
_LIBRARY = re.compile(r"(?:nccl|rccl|msccl|nvshmem|k?userbuffers|deep_ep::(?!layout)|mori::|c10d::symmetric_memory)")
_WORD = re.compile(
    r"(?<!sm)all_?(?:reduce|gather|to_?all)|reduce_?scatter|multimem|cross_device_reduce|a2a_?(?:dispatch|combine)"
    r"|(?:put|wait)_signal|exchangesplitandoffset"
)
_COMPUTES = re.compile(
    r"at::|aten::|triton_[a-z]+_fused|\bcub|.*(?:gemm|matmul|nvjet|(?:warp|block|thread)_?all_?reduce)"
)
_OPERATOR = re.compile(r"(?:symm_mem|_C_custom_ar|deep_ep)::(?!\w*(?:fused|matmul))", re.ASCII)
_NCCL = re.compile(r"nccl(?:Symk?)?(?:Dev)?Kernel_(\w+?)(?:_|\(|$)", re.ASCII)
_ALL_REDUCES = re.compile(
    r"cross_device_reduce|(?:one|two)_?shot(?!\w*(?:gather|scatter|all_?to))|multimem(?=_one|_two|_red)"
)


class Talk(NamedTuple):
    """A kernel that talks. args: those that say what the call was. word: what it is called where they do not."""

    event: Event
    args: Mapping[str, Any]
    word: str


def operators_of(events: Iterable[Event]) -> dict[int, Mapping[str, Any]]:
    """{External id: what the operator's event says, its name at least} of torch's operators that talk."""
    found: dict[int, Mapping[str, Any]] = {}
    for event in events:
        number = event.args.get(OP_ID) if event.category == "cpu_op" else None
        if isinstance(number, int) and (NAME in event.args or _OPERATOR.match(event.name)):
            found[number] = {NAME: event.name, **event.args}
    return found


def of_gpu(events: Iterable[Event], operators: Mapping[int, Mapping[str, Any]]) -> list[Talk]:
    """The kernels that talk, in their order. What an operator started that only waits for NCCL's kernel has to have a name that talks."""
    found = []
    for event in (event for event in events if event.category == KERNEL):
        number = event.args.get(OP_ID)
        by = event.args if NAME in event.args else operators.get(number, {}) if isinstance(number, int) else {}
        if NAME in event.args or _OPERATOR.match(str(by.get(NAME, ""))) or talks(event.name):
            found.append(Talk(event, by or event.args, kernel_word(event.name)))
    return found


def talks(kernel: str) -> bool:
    """By its own name: what stands before its types and arguments."""
    name = _plain(kernel)
    if _LIBRARY.match(name):
        return True
    return bool(_WORD.search(name)) and not _COMPUTES.match(name)


def kernel_word(kernel: str) -> str:
    """ "AllReduce" of ncclDevKernel_AllReduce_Sum_f32_RING_LL(...), "all_reduce" of cross_device_reduce; else the last name in it."""
    if found := _NCCL.match(kernel):
        return found[1]
    name = _plain(kernel)
    if "cross_device_reduce" in name:
        return "all_reduce"
    words = [word[0] for word in _WORD.finditer(name) if word[0].startswith(("all", "reduce"))]
    return words[0] if words else name.rpartition("::")[2]


def _plain(kernel: str) -> str:
    """ "vllm::cross_device_reduce_1stage" of "void vllm::cross_device_reduce_1stage<float, 8>(...)", in small letters."""
    name = kernel.replace("(anonymous namespace)::", "").removeprefix("void ")
    return re.split(r"[<(]", name, maxsplit=1)[0].strip().lower()
