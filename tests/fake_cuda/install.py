"""torch.cuda of the fake machine: called when torch has just been imported."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import ModuleType

from . import collectives, counters, graphs, machine, one_process, state, streams, tensors


@contextlib.contextmanager
def _on(device: object) -> Iterator[None]:
    """torch.cuda.device."""
    before = state.choose(device)
    try:
        yield
    finally:
        state.choose(before)


def _set_device(device: object) -> None:
    state.choose(device)
    state.start()


def _peer(device: object, other: object) -> bool:
    state.start()
    if state.index(device) == state.index(other):
        raise ValueError("a GPU is no peer of its own")
    return True


def _arch_list() -> list[str]:
    raise AssertionError("torch.cuda.get_arch_list starts the driver before torch 2.13: nobody who plans may ask it")


def install(torch: ModuleType) -> None:
    """Put everything in place. A machine without GPUs keeps the CPU's torch as it is."""
    if not machine.count():
        return
    tensors.install()
    answers = {
        "_lazy_init": state.start,
        "init": state.start,
        "is_initialized": state.started,
        "is_available": lambda: bool(machine.visible()),
        "device_count": lambda: len(machine.visible()),
        "current_device": lambda: (state.start(), state.current())[1],
        "set_device": _set_device,
        "device": _on,
        "synchronize": streams.synchronize,
        "get_device_properties": lambda device=None: machine.properties(
            state.index("cuda" if device is None else device)
        ),
        "get_device_name": lambda device=None: machine.NAME,
        "get_device_capability": lambda device=None: machine.CAPABILITY,
        "get_arch_list": _arch_list,
        "can_device_access_peer": _peer,
        "is_bf16_supported": lambda *_: True,
        "_sleep": streams.sleep,
        "Stream": streams.Stream,
        "Event": streams.Event,
        "stream": streams.stream,
        "current_stream": streams.current_stream,
        "default_stream": streams.default_stream,
        "CUDAGraph": graphs.CUDAGraph,
        "is_current_stream_capturing": graphs.capturing,
        "manual_seed_all": lambda seed: None,
        "manual_seed": lambda seed: None,
        "get_rng_state": lambda device=None: torch.get_rng_state(),
        "set_rng_state": lambda state, device=None: None,
        "nccl": one_process.module(),
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    _install_memory(torch.cuda)
    torch.version.cuda = machine.CUDA
    _install_dispatch(torch.library.Library)
    torch._C._host_emptyCache = lambda: None
    torch._C._cuda_getArchFlags = lambda: "sm_90"
    collectives.install()


def _install_dispatch(library: type) -> None:
    """Who stands in front of an operator on GPUs stands in front of the CPU's here, where its tensors really are."""
    real = library.impl

    def impl(self, op_name, fn, dispatch_key="", **kwargs):
        return real(self, op_name, fn, "AutogradCPU" if dispatch_key == "AutogradCUDA" else dispatch_key, **kwargs)

    library.impl = impl


def _install_memory(cuda: ModuleType) -> None:
    answers = {
        "memory_stats": counters.memory_stats,
        "memory_allocated": lambda device=None: counters.memory_stats(device)["allocated_bytes.all.current"],
        "memory_reserved": lambda device=None: counters.memory_stats(device)["reserved_bytes.all.current"],
        "max_memory_allocated": lambda device=None: counters.memory_stats(device)["allocated_bytes.all.peak"],
        "max_memory_reserved": lambda device=None: counters.memory_stats(device)["reserved_bytes.all.peak"],
        "reset_peak_memory_stats": counters.reset_peak,
        "empty_cache": counters.empty_cache,
        "mem_get_info": counters.mem_get_info,
        "set_per_process_memory_fraction": counters.allow,
        "memory_snapshot": counters.segments,
        "_record_memory_history": counters.record_history,
        "_snapshot": counters.snapshot,
    }
    for name, answer in answers.items():
        setattr(cuda, name, answer)
        setattr(cuda.memory, name, answer)
