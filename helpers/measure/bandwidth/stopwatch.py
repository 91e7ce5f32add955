"""The least time that a call takes, on the CPU or on a GPU, and nothing of what surrounds it. Chapters: memory-hierarchy, roofline.

Noise only ever adds, so the least of many repeats is the call's own time. On a GPU the calls are captured in a CUDA graph, so that
neither Python nor the launches from the host stand between them, and events on the stream measure them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from helpers.ranks import recorded

REPEATS = 3  # at the very least
SHORTER = 5  # times less is spent where pages show recorded runs
WAKE = 1024  # side of the matrices that wake a GPU


@contextmanager
def threads(count: int) -> Iterator[None]:
    """torch on so many CPU threads inside the block, as many as before after it. ValueError for less than 1."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(f"threads is a whole number of 1 or more, got {count!r}")
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def best(call: Callable[[], object], device: torch.device, seconds: float = 0.1) -> float:
    """Seconds of one call, the least of as many repeats as fit into `seconds` (at least 3), after one that warms up.

    Where pages show recorded runs, a fifth of that time is spent, and one repeat is enough.
    """
    if not seconds > 0:
        raise ValueError(f"seconds is the time to spend on repeats and positive, got {seconds!r}")
    most, enough = (seconds / SHORTER, 1) if recorded.shown() else (seconds, REPEATS)
    return _best_on_gpu(call, device, most, enough) if device.type == "cuda" else _best_on_cpu(call, most, enough)


def _best_on_cpu(call: Callable[[], object], seconds: float, enough: int) -> float:
    """On one thread by that thread's own clock, which stands still while the core is somebody else's."""
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    call()
    least, repeats, end = float("inf"), 0, time.perf_counter() + seconds
    while repeats < enough or time.perf_counter() < end:
        start = clock()
        call()
        least = min(least, clock() - start)
        repeats += 1
    return least


def _best_on_gpu(call: Callable[[], object], device: torch.device, seconds: float, enough: int) -> float:
    """Calls in a row inside one CUDA graph, as many as take about a millisecond; events before and after the whole graph."""
    with torch.cuda.device(device):
        one = _replayed(call, 1)
        count = max(1, min(1000, round(1e-3 / max(one(), 1e-6))))
        many = _replayed(call, count)
        least, repeats, end = many(), 1, time.perf_counter() + seconds
        while repeats < enough or time.perf_counter() < end:
            least, repeats = min(least, many()), repeats + 1
        return least / count


def wake(device: torch.device, seconds: float = 0.5) -> None:
    """Have a GPU multiply for so long: idle, it runs at a fifth of its clock (an H200 at 345 of 1980 MHz)."""
    a, end = torch.ones(WAKE, WAKE, device=device), time.perf_counter() + seconds
    while time.perf_counter() < end:
        torch.mm(a, a)
        torch.cuda.synchronize(device)


def _replayed(call: Callable[[], object], count: int) -> Callable[[], float]:
    """A function that plays `count` calls, captured once, and returns the seconds between its two events."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        call()  # before the capture: libraries set themselves up at the first call
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):  # its own default is a stream of the first GPU that ever captured
        for _ in range(count):
            call()
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def play() -> float:
        start.record()
        graph.replay()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) / 1e3  # milliseconds

    play()
    return play
