"""Tensors that lie in CPU memory and say cuda:0: by two modes of torch, one below autograd that follows storages, one above that answers.

A storage made on a GPU, or from tensors of one, is marked; so every view of it is there, too. Only whoever has started CUDA pays for it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from . import counters, graphs, state, streams

aten = torch.ops.aten
_meant = threading.local()  # cpu: whoever converts now means it
MIXES = {"copy_", "_to_copy", "index", "index_put_", "index_put", "_index_put_impl_", "set_", "masked_fill", "where"}
MADE_BY_HAND = (torch.tensor, torch.as_tensor, torch.asarray)  # they reach no mode below


class Mark(weakref.ref):
    """A storage on a GPU. Its end is a free."""

    __slots__ = ("device", "key", "nbytes")


_marks: dict[int, Mark] = {}
_real_device = torch.UntypedStorage.device


def device_of(tensor: torch.Tensor) -> int | None:
    """The GPU that it says it is on; None for a CPU's or meta's."""
    if not _marks or tensor.layout is not torch.strided:
        return None
    mark = _marks.get(id(tensor.untyped_storage()))
    return None if mark is None else mark.device


def put(tensor: torch.Tensor, device: int) -> torch.Tensor:
    """From now on it is on that GPU."""
    storage = tensor.untyped_storage()
    if id(storage) not in _marks and _real_device.__get__(storage).type == "cpu":
        mark = Mark(storage, _freed)
        mark.device, mark.key, mark.nbytes = device, id(storage), storage.nbytes()
        _marks[mark.key] = mark
        counters.alloc(device, mark.key, mark.nbytes)
    return tensor


def _freed(mark: Mark) -> None:
    del _marks[mark.key]
    counters.free(mark.device, mark.key)


def _tensors(values: object) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


class Follow(TorchDispatchMode):
    """Runs every operator on the CPU, and marks what comes of it."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else its first operator would import the compiler

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        asked = kwargs.get("device")
        given = [*_tensors(args), *_tensors(kwargs.values())]
        places = {device_of(tensor) for tensor in given}
        gpus = places - {None}
        where = next(iter(gpus), None)
        if asked is not None and not _an_operators_own(func, asked):
            where = state.index(asked) if torch.device(asked).type == "cuda" else None
        _refuse(func, given, kwargs, where)
        if where is not None and asked is not None:
            kwargs["device"] = torch.device("cpu")
        kwargs.pop("pin_memory", None)
        for gpu in gpus:
            streams.current_stream(gpu).drain()
        return _run(func, args, kwargs, where, given)


def _an_operators_own(func, asked: object) -> bool:
    """An operator written in C++ converts to the device that its tensor really has, which is no wish of anybody's: see `_to`."""
    return (
        func._overloadpacket is aten._to_copy
        and torch.device(asked).type == "cpu"
        and not getattr(_meant, "cpu", False)
    )


def _run(func, args: tuple, kwargs: dict, where: int | None, given: list[torch.Tensor]) -> object:
    there = {t.untyped_storage()._cdata for t in given if t.layout is torch.strided}
    out = func(*args, **kwargs)
    made = [t for t in _tensors([out]) if t.layout is torch.strided and t.untyped_storage()._cdata not in there]
    if where is not None:
        for tensor in made:
            put(tensor, where)
        nbytes = sum(t.nbytes for t in [*given, *made] if t.layout is torch.strided)
        gpus = {where, *map(device_of, given)} - {None}
        if not graphs.note(lambda: _again(func, args, kwargs, made, gpus, nbytes), where):
            streams.charge(gpus, nbytes)
    return out


def _again(func, args: tuple, kwargs: dict, made: list[torch.Tensor], gpus: set[int], nbytes: int) -> None:
    """At a replay: the same operator, and its new results where the captured ones lie."""
    streams.charge(gpus, nbytes)
    for old, new in zip(made, _tensors([func(*args, **kwargs)]), strict=False):
        old.copy_(new)


def _refuse(func, given: list[torch.Tensor], kwargs: dict, where: int | None) -> None:
    """torch's words for devices that do not fit."""
    generator = kwargs.get("generator")
    if where is not None and generator is not None and generator.device.type == "cpu":
        raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
    name = func._schema.name.partition("::")[2]
    if name in MIXES or name.startswith(("_foreach", "_fused")):
        return
    places = {device_of(tensor) for tensor in given if tensor.dim() or device_of(tensor) is not None}
    if len(places) > 1:
        said = " and ".join(sorted("cpu" if place is None else f"cuda:{place}" for place in places))
        raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {said}!")


class Answer(TorchFunctionMode):
    """What a tensor says of its place, and the functions that no mode below sees."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        answer = _ANSWERS.get(func)
        return answer(func, args, kwargs or {}) if answer else func(*args, **(kwargs or {}))


def _device(func, args: tuple, kwargs: dict) -> torch.device:
    found = device_of(args[0])
    return func(*args) if found is None else torch.device("cuda", found)


def _by_hand(func, args: tuple, kwargs: dict) -> torch.Tensor:
    asked = kwargs.get("device")
    if asked is None and not isinstance(args[0], torch.Tensor):
        asked = torch.get_default_device()
    if asked is None or torch.device(asked).type != "cuda":
        return func(*args, **kwargs)
    made = func(*args, **(kwargs | {"device": "cpu"}))
    return put(made if func is torch.tensor else made.clone(), state.index(asked))


def _new_tensor(func, args: tuple, kwargs: dict) -> torch.Tensor:
    """Numbers of the host's, beside the tensor that is asked."""
    made, where = func(*args, **kwargs), device_of(args[0])
    return made if where is None or "device" in kwargs else put(made, where)


def _to(func, args: tuple, kwargs: dict) -> torch.Tensor:
    x, *rest = args
    if rest and isinstance(rest[0], torch.Tensor):
        rest = [torch.device("cpu") if device_of(rest[0]) is None else f"cuda:{device_of(rest[0])}", rest[0].dtype]
    copy = kwargs.get("copy", False)
    device, dtype, _, layout = torch._C._nn._parse_to(*rest, **{k: v for k, v in kwargs.items() if k != "copy"})
    if device is None or device.type == "meta":
        return func(*args, **kwargs)
    if device.type == "cuda":
        state.start()
    want = state.index(device) if device.type == "cuda" else None
    if want == device_of(x) and not copy:
        return x if dtype is None else x.to(dtype)
    more = {} if layout is None else {"memory_format": layout}
    _meant.cpu = True
    try:
        return aten._to_copy(x, dtype=dtype or x.dtype, device=device, **more)
    finally:
        _meant.cpu = False


def _read(func, args: tuple, kwargs: dict) -> object:
    """The host reads memory by itself: not before the GPU has come so far."""
    if (device := device_of(args[0])) is not None:
        streams.current_stream(device).drain()
    return func(*args, **kwargs)


def _cuda(func, args: tuple, kwargs: dict) -> torch.Tensor:
    device = args[1] if len(args) > 1 else kwargs.get("device")
    return _to(torch.Tensor.to, (args[0], torch.device("cuda", state.index("cuda" if device is None else device))), {})


_ANSWERS = {
    torch.Tensor.device.__get__: _device,
    torch.Tensor.is_cuda.__get__: lambda func, args, kwargs: device_of(args[0]) is not None,
    torch.Tensor.is_cpu.__get__: lambda func, args, kwargs: device_of(args[0]) is None and func(*args),
    torch.Tensor.get_device: lambda func, args, kwargs: -1 if device_of(args[0]) is None else device_of(args[0]),
    torch.Tensor.to: _to,
    torch.Tensor.cpu: lambda func, args, kwargs: _to(torch.Tensor.to, (args[0], torch.device("cpu")), {}),
    torch.Tensor.cuda: _cuda,
    torch.Tensor.new_tensor: _new_tensor,
    **dict.fromkeys((torch.Tensor.tolist, torch.Tensor.numpy, torch.Tensor.__repr__), _read),
    **dict.fromkeys(MADE_BY_HAND, _by_hand),
}


def _storage_device(storage: torch.UntypedStorage) -> torch.device:
    mark = _marks.get(id(storage))
    return _real_device.__get__(storage) if mark is None else torch.device("cuda", mark.device)


def install() -> None:
    """Storages answer everywhere; the modes are on in threads that use the GPU."""
    torch.UntypedStorage.device = property(_storage_device)
    state.at_start(lambda: Answer().__enter__())
    state.at_start(lambda: Follow().__enter__())
