"""Serving as a question of memory: how many requests fit, what paging saves, what a shared prefix saves, and who waits.

Chapter: too-big.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from helpers.facts import Model
from helpers.memory.closed_form import FormError, inference, kv_cache, per_token
from helpers.memory.closed_form.terms import whole
from helpers.units import nbytes_text

__all__ = ["Layout", "Request", "Served", "fits", "inference", "kv_cache", "paged", "per_token", "reserved", "serve"]

BLOCK = 16  # tokens of a block, vLLM's usual size


@dataclass(frozen=True)
class Layout:
    """Cache laid out in memory. slots: tokens there is room for; tokens: how many of them hold something; nbytes: all of it."""

    slots: int
    tokens: int
    nbytes: int

    @property
    def waste(self) -> float:
        """The part of the room that holds nothing, 0 to 1."""
        return 1 - self.tokens / self.slots

    def __str__(self) -> str:
        return f"{nbytes_text(self.nbytes)} for {self.tokens:,} tokens, {self.waste:.1%} of it empty"


def reserved(model: Model | str, lengths: Sequence[int], longest: int, dtype_bytes: int = 2) -> Layout:
    """Every request gets room for the longest answer in one piece, as before PagedAttention. FormError for one that is longer."""
    _lengths(lengths)
    if max(lengths) > longest:
        raise FormError(f"every request gets room for {longest} tokens, one has {max(lengths)}")
    return _layout(model, longest * len(lengths), sum(lengths), dtype_bytes)


def paged(
    model: Model | str, lengths: Sequence[int], block: int = BLOCK, prefix: int = 0, dtype_bytes: int = 2
) -> Layout:
    """Every request gets blocks of `block` tokens as it grows: only its last block has empty slots.

    prefix: how many first tokens all requests have in common; the full blocks among them stand in memory once.
    tokens counts what is stored, so a shared token counts once.
    """
    _lengths(lengths)
    whole(block=block)
    whole(0, prefix=prefix)
    if prefix > min(lengths):
        raise FormError(f"a prefix of {prefix} tokens is longer than the shortest request, {min(lengths)}")
    shared = prefix // block * block
    slots = shared + sum(-(-(length - shared) // block) * block for length in lengths)
    return _layout(model, slots, shared + sum(length - shared for length in lengths), dtype_bytes)


def fits(
    model: Model | str,
    capacity: int,
    seq: int,
    dtype_bytes: int = 2,
    cache_bytes: int | None = None,
    spare: float = 0.1,
) -> int:
    """How many requests of `seq` tokens fit beside the weights; 0 if the weights alone do not.

    capacity: bytes of the device; spare: the part left for activations, workspaces and the context (vLLM leaves a tenth too).
    """
    whole(capacity=capacity)
    if not 0 <= spare < 1:
        raise FormError(f"spare is a part of the device, at least 0 and below 1, got {spare!r}")
    one = inference(model, 1, seq, dtype_bytes, cache_bytes)
    free = int(capacity * (1 - spare)) - one["weights"].nbytes
    return max(0, free // one["KV cache"].nbytes)


@dataclass(frozen=True)
class Request:
    """A prompt of so many tokens, and an answer of so many."""

    prompt: int
    answer: int


@dataclass(frozen=True)
class Served:
    """What became of a queue. steps: passes of the model; running: requests in each; held: tokens in the cache in each."""

    steps: int
    running: tuple[int, ...]
    held: tuple[int, ...]

    @property
    def tokens_a_step(self) -> float:
        """Answer tokens for each pass over the weights: what decoding, bound by memory, is paid in."""
        return sum(self.running) / self.steps


def serve(requests: Sequence[Request], room: int, continuous: bool = True) -> Served:
    """Answer a queue in order with room for `room` tokens of cache; one token a step for each request that runs.

    A request starts when its last token, too, will have room, so nobody is thrown out. continuous=False: a new batch starts only
    when the slowest of the last one is done; True: a place that is left is filled before the next step (Orca).
    FormError for a request that never fits.
    """
    whole(room=room)
    for request in requests:
        whole(prompt=request.prompt, answer=request.answer)
        if request.prompt + request.answer > room:
            raise FormError(f"room for {room} tokens never holds {request}")
    waiting = list(requests)
    running: list[tuple[Request, int]] = []
    counts, held = [], []
    while waiting or running:
        if continuous or not running:
            _admit(waiting, running, room)
        counts.append(len(running))
        held.append(sum(request.prompt + done + 1 for request, done in running))
        running = [(request, done + 1) for request, done in running if done + 1 < request.answer]
    return Served(len(counts), tuple(counts), tuple(held))


def _admit(waiting: list[Request], running: list[tuple[Request, int]], room: int) -> None:
    """Moves requests from the head of the queue while the longest that all will be has room."""
    promised = sum(request.prompt + request.answer for request, _ in running)
    while waiting and promised + waiting[0].prompt + waiting[0].answer <= room:
        promised += waiting[0].prompt + waiting[0].answer
        running.append((waiting.pop(0), 0))


def _layout(model: Model | str, slots: int, tokens: int, dtype_bytes: int) -> Layout:
    return Layout(slots, tokens, slots * per_token(model, dtype_bytes))


def _lengths(lengths: Sequence[int]) -> None:
    if not lengths:
        raise FormError("lengths: there must be at least one request, got none")
    for length in lengths:
        whole(length=length)
