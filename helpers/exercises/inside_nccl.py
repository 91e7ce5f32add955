"""The exercises of the chapter `inside-nccl`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from helpers.collectives import CATALOGUE
from helpers.nccl import PROTOCOLS, Platform, costs, cut, fused, release_of
from helpers.nccl.releases import BASE, HOP
from helpers.nccl.tuning import ring_steps
from helpers.units import KIB, MIB, nbytes_text, seconds_text

from .answer import Answer, NotYetError, judge

MACHINE, RELEASE = Platform("H100", 8), release_of()
Line = tuple[float, float, float]  # seconds of a call, seconds of a step, bytes per second through a port
SIZES = (KIB, 100 * KIB, MIB, 5 * MIB, 12 * MIB, 64 * MIB, 1024 * MIB)


# which protocol ----------------------------------------------------------------------------------------------------------
def ring_lines(nranks: int) -> Mapping[str, Line]:
    """What NCCL holds of its ring on so many H100, by protocol: the start, a step, and the rate at which a GPU passes bytes on."""
    told = [cost for cost in costs("all_reduce", MIB, MACHINE.fabric(nranks), RELEASE) if cost.algorithm == "Ring"]
    passed = ring_steps("all_reduce", nranks) / nranks  # buffers through each port
    ways = zip(told, BASE["Ring"], HOP["NVLink"]["Ring"], strict=True)
    return {cost.protocol: (start * 1e-6, hop * 1e-6, cost.bandwidth * passed) for cost, start, hop in ways}


def which_protocol(answer: Callable[[int, int, Mapping[str, Line]], str]) -> Answer:
    """answer(nbytes, nranks, lines): the protocol that NCCL's own estimate puts first for a ring's all_reduce on H100."""
    cases = [(nbytes, nranks) for nranks in (2, 3, 4, 8) for nbytes in SIZES]
    return judge(cases, lambda case: _protocol(answer, *case), f"What NCCL's estimate says, in all {len(cases)} cases.")


def _protocol(answer: Callable[[int, int, Mapping[str, Line]], str], nbytes: int, nranks: int) -> None:
    where = f"A ring of {nranks} ranks, {nbytes_text(nbytes)}"
    name = answer(nbytes, nranks, dict(ring_lines(nranks)))
    if name not in PROTOCOLS:
        raise NotYetError(f"{where}: expected one of {', '.join(PROTOCOLS)}, got {name!r}.")
    told = costs("all_reduce", nbytes, MACHINE.fabric(nranks), RELEASE)
    times = {cost.protocol: cost.seconds(nbytes) for cost in told if cost.algorithm == "Ring"}
    if name != (best := min(times, key=lambda protocol: times[protocol])):
        raise NotYetError(
            f"{where}: {name} is estimated at {seconds_text(times[name])}, {best} at {seconds_text(times[best])}."
            " Hint: how many steps are there, and how many buffers pass through each port?"
        )


# how many rounds ---------------------------------------------------------------------------------------------------------
def rounds(answer: Callable[[int, int, int, int], int]) -> Answer:
    """answer(nbytes, nranks, channels, chunk): the rounds of a ring's all_reduce whose channels send at most `chunk` bytes a step."""
    sizes = (KIB, MIB, 3 * MIB, 33 * MIB, 192 * MIB, 1000 * MIB)
    cases = [(nbytes, nranks, protocol) for nranks in (2, 4, 8) for protocol in PROTOCOLS for nbytes in sizes]
    return judge(cases, lambda case: _rounds(answer, *case), f"The kernel's own number in all {len(cases)} cases.")


def _rounds(answer: Callable[[int, int, int, int], int], nbytes: int, nranks: int, protocol: str) -> None:
    want, most = cut("Ring", protocol, nbytes, MACHINE.fabric(nranks), RELEASE), PROTOCOLS[protocol].chunk
    got = answer(nbytes, nranks, want.channels, most)
    where = f"{nbytes_text(nbytes)} on {nranks} ranks over {want.channels} channels, chunks of {nbytes_text(most)}"
    if isinstance(got, bool) or not isinstance(got, int) or got < 1:
        raise NotYetError(f"{where}: expected a whole number of rounds, 1 or more, got {got!r}.")
    if got != want.loops:
        raise NotYetError(
            f"{where}: you say {got}, the kernel makes {want.loops}."
            " Hint: how many chunks does one channel hold in a round, when every rank starts with one of its own?"
        )


# what a rank does --------------------------------------------------------------------------------------------------------
def primitives_of(answer: Callable[[int], Sequence[str]]) -> Answer:
    """answer(nranks): the names of the primitives that a rank of a ring's all_reduce runs, in order."""
    praise = "The kernel's own list for 2 to 12 ranks."
    return judge(range(2, 13), lambda nranks: _primitives(answer, nranks), praise)


def _primitives(answer: Callable[[int], Sequence[str]], nranks: int) -> None:
    got = list(answer(nranks))
    want = [one.name for one in fused(CATALOGUE["all_reduce", "ring"](nranks))[0]]
    if got == want:
        return
    where = f"On {nranks} ranks"
    if len(got) != len(want):
        raise NotYetError(
            f"{where}: you list {len(got)} primitives, a rank runs {len(want)}. Hint: one more than steps."
        )
    at = next(i for i, (mine, theirs) in enumerate(zip(got, want, strict=True)) if mine != theirs)
    raise NotYetError(f"{where}: number {at + 1} is {want[at]}, you say {got[at]!r}.")


# through the port of NVLS ------------------------------------------------------------------------------------------------
def through_the_port(answer: Callable[[int, int], float]) -> Answer:
    """answer(nranks, nbytes): the bytes that leave a GPU's port, one way, in an all_reduce by NVLS."""
    cases = [(nranks, nbytes) for nranks in (2, 3, 4, 8, 16) for nbytes in (MIB, 96 * MIB)]
    praise = "As many as the schedule counts, for 2 to 16 GPUs."
    return judge(cases, lambda case: _port(answer, *case), praise)


def _port(answer: Callable[[int, int], float], nranks: int, nbytes: int) -> None:
    schedule = CATALOGUE["all_reduce", "nvls"](nranks, slices=1)
    want = Fraction(max(schedule.sent()[:nranks]) * nbytes, schedule.nchunks)
    got = answer(nranks, nbytes)
    where = f"{nbytes_text(nbytes)} on {nranks} GPUs"
    if isinstance(got, bool) or not isinstance(got, (int, float, Fraction)):
        raise NotYetError(f"{where}: expected a number of bytes, got {got!r}.")
    if abs(got - want) > 1:
        raise NotYetError(
            f"{where}: you say {nbytes_text(float(got))}, counted are {nbytes_text(float(want))}."
            " Hint: what does the switch read of me, and what do I write into it?"
        )
