"""Which GPU is current in this thread, and whether this process has started CUDA."""

from __future__ import annotations

import threading

from . import machine

_here = threading.local()
_started = False
_on_start: list = []  # called once a thread, when CUDA is used there first


def at_start(action) -> None:
    """Have `action` called in every thread that uses the GPU."""
    _on_start.append(action)


def start() -> None:
    """torch.cuda._lazy_init: a context on the current GPU."""
    global _started
    if not machine.visible():
        raise RuntimeError("No CUDA GPUs are available")
    if not getattr(_here, "started", False):
        _here.started = _started = True
        machine.hold(current())
        for action in _on_start:
            action()


def started() -> bool:
    return _started


def current() -> int:
    return getattr(_here, "device", 0)


def choose(device: object) -> int:
    """Returns the one before."""
    before, _here.device = current(), index(device)
    if getattr(_here, "started", False) and _here.device != before:
        machine.hold(_here.device)
    return before


def index(device: object) -> int:
    """0 of 0, "cuda:0" or torch.device("cuda:0"); the current one of "cuda". RuntimeError for a GPU that is not there."""
    found = device if isinstance(device, int) else getattr(device, "index", None)
    if isinstance(device, str):
        found = int(device.partition(":")[2]) if ":" in device else None
    found = current() if found is None else found
    machine.properties(found)
    return found
