"""The exercises of the chapter `who-moves`: free of SMs or not, a product beside a collective, a sender that never overwrites."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from helpers.nccl.movers import COLLECTIVES, MOVERS, POLICIES, HandoverError, beside, check_handover, who_moves
from helpers.units import seconds_text

from .answer import Answer, NotYetError, judge

NO_YES = (False, True)
# tiles, seconds of a tile, SMs, how many of them a collective holds, until when
PRODUCTS = (
    (1, 1e-3, 1, 0, 0.0),
    (4, 1e-3, 2, 0, 0.0),
    (4, 1e-3, 2, 1, 9e-3),
    (4, 1e-3, 4, 1, 0.5e-3),
    (5, 1e-3, 4, 2, 1.5e-3),
    (132, 1.5e-3, 132, 24, 1.4e-3),
    (132, 1.5e-3, 132, 24, 9e-3),
    (108, 1.5e-3, 132, 24, 9e-3),
    (2048, 1e-4, 132, 16, 0.75e-3),
    (2048, 1e-4, 132, 132, 0.3e-3),
)
PAIRS = tuple(product((1, 2, 3, 4), (1, 2, 3)))  # messages, slots


# who needs no SM ---------------------------------------------------------------------------------------------------------
def without_sms(answer: Callable[[str, str, bool, bool, bool], bool]) -> Answer:
    """answer(collective, policy, send_window, recv_window, across) must be whether NCCL 2.30.7 moves it on Hopper without any SM."""
    cases = list(product(COLLECTIVES, POLICIES, NO_YES, NO_YES, NO_YES))
    return judge(cases, lambda case: _without_sms(answer, *case), f"As NCCL's source says, in all {len(cases)} cases.")


def _without_sms(
    answer: Callable[[str, str, bool, bool, bool], bool],
    collective: str,
    policy: str,
    send_window: bool,
    recv_window: bool,
    across: bool,
) -> None:
    got = answer(collective, policy, send_window, recv_window, across)
    want = not any(MOVERS[name].holds_sms for name in who_moves(collective, policy, send_window, recv_window, across))
    windows = [name for name, there in (("the input", send_window), ("the output", recv_window)) if there]
    where = (
        f"{collective} {'across nodes' if across else 'inside one NVLink domain'}, policy {policy},"
        f" {' and '.join(windows) or 'neither buffer'} in a window"
    )
    if not isinstance(got, bool):
        raise NotYetError(f"{where}: expected True or False, got {got!r}.")
    if got != want:
        raise NotYetError(
            f"{where}: {'no SM is needed' if want else 'a kernel moves it'}, you say {got}."
            " Hint: who asked for it, can a copy do it, and which buffers do the engines have to reach?"
        )


# a product beside a collective -------------------------------------------------------------------------------------------
def product_beside(answer: Callable[[int, float, int, int, float], float]) -> Answer:
    """answer(tiles, tile, sms, taken, until) must be the seconds until a product of so many tiles is done; see `beside`."""
    praise = f"Tile by tile the same, in all {len(PRODUCTS)} cases."
    return judge(PRODUCTS, lambda case: _product_beside(answer, *case), praise)


def _product_beside(
    answer: Callable[[int, float, int, int, float], float], tiles: int, tile: float, sms: int, taken: int, until: float
) -> None:
    got, want = answer(tiles, tile, sms, taken, until), beside(tiles, tile, sms, taken, until)
    where = f"{tiles} tiles of {seconds_text(tile)} on {sms} SMs, {taken} of them taken until {seconds_text(until)}"
    if isinstance(got, bool) or not isinstance(got, (int, float)):
        raise NotYetError(f"{where}: expected seconds, got {got!r}.")
    if abs(got - want) > 1e-6 * want:
        raise NotYetError(
            f"{where}: you say {seconds_text(float(got)) if got > 0 else got}, tile by tile it is {seconds_text(want)}."
            " Hint: which SM is the first to be free, and from when on?"
        )


# a sender ----------------------------------------------------------------------------------------------------------------
def sender(answer: Callable[[int, int], Sequence[str]]) -> Answer:
    """answer(messages, slots): the sender's steps, "put", "signal" and "wait", so that no order of events goes wrong and it waits
    only where it must: with a receiver that has not begun, it still fills every slot.
    """
    praise = f"No order of events goes wrong, for {len(PAIRS)} pairs of messages and slots."
    return judge(PAIRS, lambda pair: _sender(answer, *pair), praise)


def _sender(answer: Callable[[int, int], Sequence[str]], messages: int, slots: int) -> None:
    steps, where = list(answer(messages, slots)), f"{messages} messages through {slots} slots"
    try:
        check_handover(steps, messages, slots)
    except HandoverError as error:
        raise NotYetError(f"{where}, you do {', '.join(steps) or 'nothing'}: {error}") from None
    first = steps.index("wait") if "wait" in steps else len(steps)
    if (ahead := steps[:first].count("put")) < (want := min(messages, slots)):
        raise NotYetError(
            f"{where}: sound, but you wait after {ahead} puts. Hint: {want} can go before the first wait."
        )
