"""`track`: watch every byte of a training step, on CPU, on CUDA, or on the meta device where no byte exists.

    with track(model, optimizer, inputs=x) as watch:
        model(x).sum().backward()
    watch.trace.peak

What it cannot see: scratch inside one kernel, the CUDA context, NCCL's buffers, other processes.
Chapters: training-memory, allocator, too-big.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import torch
from torch import nn
from torch.nn.modules import module as hooks
from torch.optim import Optimizer

from helpers.memory import Event, Sample, Trace

from .dispatch import Answers, Dispatch, resizing, tensors
from .ledger import Ledger, TrackError, known_class, storages
from .optimizers import following, states
from .samples import CudaSamples
from .saved import saving
from .where import Place

SOURCE = {"cuda": "tracked (CUDA tensors)", "cpu": "tracked (CPU tensors)", "meta": "predicted (meta)"}
_active: list[Tracker] = []


class Tracker:
    """A tracker that is on: names phases and stages, registers tensors by hand, hands out the trace."""

    def __init__(self, model: nn.Module, ledger: Ledger, device: torch.device, samples: CudaSamples | None) -> None:
        self._ledger, self._samples = ledger, samples
        self._about = {
            "label": f"{type(model).__name__} on {device.type}",
            "device": device.type,
            "model": type(model).__name__,
            "nparams": sum(p.numel() for p in model.parameters()),
            "torch": torch.__version__,
        }
        if device.type == "cuda":
            self._about["gpu"] = torch.cuda.get_device_name(device)
        self._source = SOURCE[device.type]

    def phase(self, name: str):
        """`with watch.phase("warm up"):` everything inside is of this phase, whatever else was found."""
        return self._ledger.place.phase(name)

    def mark(self, name: str) -> None:
        """A stage: the moment gets a name in the trace. On CUDA the allocator's own counters are read."""
        self._ledger.mark(name)
        if self._samples is not None:
            self._samples.take(len(self._ledger.events))

    def register(self, what: object, cls: str) -> None:
        """Give a tensor, or every tensor in a module or a nest of lists and dicts, a class by hand; saving it for backward does
        not change it. TrackError: no such class."""
        known_class(cls)
        for name, tensor in _named(what):
            self._ledger.claim(tensor, cls, name, self._ledger.place.owner(tensor), by_hand=True)

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """`with watch.unseen():` what is made inside is unknown until `register` names it, as what was made before `track` is."""
        ledger = self._ledger
        devices, ledger.devices = ledger.devices, frozenset()
        try:
            yield
        finally:
            ledger.devices = devices

    def blocks(self, tensor: torch.Tensor) -> list[int]:
        """Ids, as in the trace's events, of the blocks that hold the tensor's values now; none for what is not known or empty."""
        found = [self._ledger.find(storage) for storage in storages(tensor)]
        return [held.block for held in found if held is not None and held.nbytes]

    def label(self, **about: object) -> None:
        """Say more about the trace: label="Llama-2-7B, batch 1", seed=0, ..."""
        self._about |= about

    @property
    def trace(self) -> Trace:
        """Everything until now; also after the with-block."""
        samples = tuple(self._samples.taken) if self._samples is not None else ()
        return Trace(tuple(self._ledger.events), self._source, dict(self._about), samples)


@contextmanager
def track(
    model: nn.Module,
    optimizer: Optimizer | Iterable[Optimizer] | None = None,
    inputs: object = (),
    on_event: Callable[[Event], None] | None = None,
    *,
    on_sample: Callable[[Sample], None] | None = None,
    devices: Iterable[str] | None = None,
    answers: Answers | None = None,
) -> Iterator[Tracker]:
    """Tracker the memory of everything that runs inside.

    model's parameters and buffers, optimizer's state and inputs (a tensor, or tensors in lists and dicts) are there from the
    start; what else was made before is not known. on_event gets every event as it happens; on_sample, on CUDA, what the allocator
    holds at every mark, every 16th event and every new height. devices: types that count, by
    default the parameters' own; beside "meta" also "cpu", where torch keeps an optimizer's step counts. answers gives,
    for an operator, what is asked in its place with (args, kwargs), or None; so is torch where that answers None. TrackError
    inside another tracker or for anything that is no model, TypeError for no optimizer.
    """
    device = _device(model)
    optimizers = _optimizers(optimizer)
    counted = frozenset(devices or ({"meta", "cpu"} if device.type == "meta" else {device.type}))
    if _active:
        raise TrackError("a tracker is on already, and each would see the other's work: leave its with-block first")
    place = Place(model)
    ledger = Ledger(place, counted, device.type != "meta", on_event)
    samples = CudaSamples(device, ledger, on_sample) if device.type == "cuda" else None
    watch = Tracker(model, ledger, device, samples)
    with ExitStack() as stack:
        _active.append(watch)
        stack.callback(_active.remove, watch)
        stack.callback(ledger.close)
        _enter_what_is_there(watch, model, optimizers, inputs)
        dispatch = Dispatch(ledger, answers)
        stack.enter_context(resizing(ledger))
        stack.enter_context(following(model, optimizers, ledger, dispatch))
        stack.enter_context(saving(ledger))
        stack.enter_context(_hooked(place))
        stack.enter_context(dispatch)
        yield watch


def _device(model: nn.Module) -> torch.device:
    if not isinstance(model, nn.Module):
        raise TrackError(f"track(model) wants a torch.nn.Module, got {type(model).__name__}")
    found = {tensor.device.type: tensor.device for _, tensor in _named(model)}
    if len(found) > 1 or not set(found) <= set(SOURCE):
        raise TrackError(f"the parameters live on one of {', '.join(SOURCE)}, got {', '.join(sorted(found))}")
    return next(iter(found.values()), torch.device("cpu"))


def _optimizers(given: Optimizer | Iterable[Optimizer] | None) -> list[Optimizer]:
    several = [] if given is None else [given] if isinstance(given, Optimizer) else list(given)
    for one in several:
        if not isinstance(one, Optimizer):
            raise TypeError(f"track(optimizer=) wants a torch.optim.Optimizer or several, got {type(one).__name__}")
    return several


def _enter_what_is_there(watch: Tracker, model: nn.Module, optimizers: list[Optimizer], inputs: object) -> None:
    watch.register(model, "parameter")
    ledger = watch._ledger
    for parameter in model.parameters():
        if parameter.grad is not None:
            ledger.claim(parameter.grad, "gradient", "grad", ledger.place.owner(parameter))
    for one in optimizers:
        for owner, key, tensor in states(one):
            ledger.claim(tensor, "optimizer", key, ledger.place.owner(owner))
    for name, tensor in _named(inputs):
        ledger.claim(tensor, "input", name or "input")


def _named(what: object) -> Iterator[tuple[str, torch.Tensor]]:
    """(name, tensor): a module's parameters and buffers by their own names, else every tensor in the nest."""
    if isinstance(what, nn.Module):
        for one in what.modules():
            yield from one.named_parameters(recurse=False)
            yield from one.named_buffers(recurse=False)
    elif isinstance(what, Mapping):
        for key, value in what.items():
            yield from ((name or str(key), tensor) for name, tensor in _named(value))
    else:
        yield from (("", tensor) for tensor in tensors(what))


@contextmanager
def _hooked(place: Place) -> Iterator[None]:
    """Hooks for all modules at once: hooks on the model's own modules would switch off the transformer's fast path."""
    before = hooks.register_module_forward_pre_hook(place.enter)
    after = hooks.register_module_forward_hook(place.leave, always_call=True)
    try:
        yield
    finally:
        before.remove()
        after.remove()
