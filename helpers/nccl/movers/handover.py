"""One rank puts messages into another's memory, one after the other: every order in which the two can go on. Chapter: who-moves.

A put and a read take two steps each, so that a read can meet half a message. The sender's program is checked against the one
receiver there is: wait for a signal, read, signal back that the slot is free; for each message. Both signals only count up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

STEPS = ("put", "signal", "wait")  # of a sender
RECEIVER = ("wait", "read", "signal")  # for each message


class HandoverError(ValueError):
    """A sender's program with which some order of events goes wrong; the message tells the shortest."""


class State(NamedTuple):
    """at: the next step of sender and receiver. half: whether each is in the middle of it. memory: (message, message) of each slot.
    arrived: signals to the receiver, signals back. told: the events so far.
    """

    at: tuple[int, int]
    half: tuple[bool, bool]
    memory: tuple[tuple[int, int], ...]
    arrived: tuple[int, int]


def check_handover(sender: Sequence[str], messages: int, slots: int) -> int:
    """The number of situations that can be, all of them right. The k-th put is message k, into slot k % slots.

    HandoverError where a read meets anything but its message, where both wait for ever, or where not every message is put.
    """
    _refuse(sender, messages, slots)
    start = State((0, 0), (False, False), ((-1, -1),) * slots, (0, 0))
    told: dict[State, tuple[State, str] | None] = {start: None}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        nexts = list(_nexts(state, sender, messages, slots))
        if not nexts and state.at != (len(sender), len(RECEIVER) * messages):
            raise HandoverError(f"{_story(told, state)}. Now nobody goes on: both wait, or a message is missing.")
        for after, event, wrong in nexts:
            if wrong:
                raise HandoverError(f"{_story(told, state)}, {event}: {wrong}.")
            if after not in told:
                told[after] = (state, event)
                queue.append(after)
    return len(told)


def _refuse(sender: Sequence[str], messages: int, slots: int) -> None:
    if messages < 1 or slots < 1:
        raise ValueError(f"expected 1 message and 1 slot or more, got {messages} and {slots}")
    if wrong := [step for step in sender if step not in STEPS]:
        raise HandoverError(f"{wrong[0]!r} is no step of a sender: expected {', '.join(STEPS)}")
    if (puts := list(sender).count("put")) != messages:
        raise HandoverError(f"expected a put for each of {messages} messages, got {puts}")


Next = tuple[State, str, str]  # the state after, what happened, and what is wrong with it ("" if nothing)


def _nexts(state: State, sender: Sequence[str], messages: int, slots: int) -> Iterator[Next]:
    if state.at[0] < len(sender):
        step, before = sender[state.at[0]], sender[: state.at[0]]
        if step == "put":
            yield _put(state, before.count("put"), slots)
        elif step == "signal":
            yield _on(state, 0, arrived=(state.arrived[0] + 1, state.arrived[1])), "signal", ""
        elif state.arrived[1] > before.count("wait"):
            yield _on(state, 0), "wait is over", ""
    message, place = divmod(state.at[1], len(RECEIVER))
    if message < messages:
        step = RECEIVER[place]
        if step == "read":
            yield _read(state, message, slots)
        elif step == "signal":
            yield _on(state, 1, arrived=(state.arrived[0], state.arrived[1] + 1)), "signal back", ""
        elif state.arrived[0] > message:
            yield _on(state, 1), f"the receiver has waited for message {message}", ""


def _on(
    state: State,
    who: int,
    half: bool = False,
    memory: tuple[tuple[int, int], ...] | None = None,
    arrived: tuple[int, int] | None = None,
) -> State:
    """The same with one of the two a step further, or in the middle of it."""
    first, second = state.at
    at = (first + (not half), second) if who == 0 else (first, second + (not half))
    halves = (half, state.half[1]) if who == 0 else (state.half[0], half)
    return State(at, halves, memory or state.memory, arrived or state.arrived)


def _put(state: State, message: int, slots: int) -> Next:
    slot, first = message % slots, not state.half[0]
    old = state.memory[slot]
    new = (message, old[1]) if first else (old[0], message)
    memory = tuple(new if i == slot else one for i, one in enumerate(state.memory))
    return _on(state, 0, half=first, memory=memory), f"{'first' if first else 'second'} half of put {message}", ""


def _read(state: State, message: int, slots: int) -> Next:
    first = not state.half[1]
    found = state.memory[message % slots][0 if first else 1]
    event = f"{'first' if first else 'second'} half of read {message}"
    what = "nothing" if found < 0 else f"message {found}"
    return _on(state, 1, half=first), event, "" if found == message else f"it finds {what}"


def _story(told: dict[State, tuple[State, str] | None], state: State) -> str:
    events = []
    while (way := told[state]) is not None:
        state, event = way
        events.append(event)
    return ", ".join(reversed(events)) or "At the start"
