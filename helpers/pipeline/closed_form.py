"""Bubble and memory of the schedules as formulas, p ranks, m microbatches, v stages per rank. Chapter: pipeline.

Two shares are in use and are easily confused. GPipe's is of all time, (p-1) / (m+p-1); Megatron-LM's is of the time without a
bubble, (p-1) / m, and may be more than 1. Here `bubble_share` is the first and `bubble_overhead` the second.
"""

from __future__ import annotations

from fractions import Fraction

from .orders import SCHEDULES
from .schedule import PipelineSchedule
from .timeline import UNIT, Time, Times


def idle(s: PipelineSchedule, times: Times = UNIT) -> Time:
    """How long every rank computes nothing in a step. f, i, w: times of forward and the two parts of backward; messages take none.

    gpipe, 1f1b   (p-1)(f+i+w): the last rank begins p-1 forwards late, the first ends p-1 backwards after it. Any m, any times.
    interleaved   (p-1)(f+i+w)/v: the same with stages of a v-th of the layers. m is a multiple of p.
    zb-h1         (p-1)(f+i-w) (table 2 of the paper): a gradient's way back is shorter by w a stage than 1F1B's, and so is its
                  wait at the end, which the weights that a rank has left fill. Exact for w <= f <= i, as a transformer's layers
                  have it, and m >= p. For equal times and m < p there are too few weights to fill: rank 0 has its first
                  gradient after 2p-1 and then only m inputs and weights to do, so 2p-1-m.
    ValueError for other times and sizes of zb-h1: there its fixed order waits longer, and `timeline` says how long.
    """
    _known(s)
    if s.name != "zb-h1":
        return (s.nranks - 1) * times.work / s.nvirtual
    if s.nranks == 1:
        return Fraction(0)
    return _zero_bubble_idle(s, times)


def _known(s: PipelineSchedule) -> None:
    if s.name not in SCHEDULES:
        raise ValueError(f"a schedule with a closed form is one of {', '.join(SCHEDULES)}, got {s.name!r}")


def _zero_bubble_idle(s: PipelineSchedule, times: Times) -> Time:
    equal = times.forward == times.input == times.weight
    ordered = times.weight <= times.forward <= times.input
    if not equal and (not ordered or s.nmicrobatches < s.nranks):
        raise ValueError(
            f"the closed form of zb-h1 wants weight <= forward <= input and at least {s.nranks} microbatches, or equal times; "
            f"got {times} and {s.nmicrobatches}"
        )
    if equal and s.nmicrobatches < s.nranks:
        return (2 * s.nranks - 1 - s.nmicrobatches) * times.forward
    return (s.nranks - 1) * (times.forward + times.input - times.weight)


def bubble_share(s: PipelineSchedule, times: Times = UNIT) -> Time:
    """The share of all time in which a rank computes nothing: GPipe's (p-1) / (m+p-1)."""
    wait, work = idle(s, times), s.nmicrobatches * times.work
    return wait / (work + wait)


def bubble_overhead(s: PipelineSchedule, times: Times = UNIT) -> Time:
    """The same wait over the time of computing alone: Megatron-LM's (p-1) / (v m)."""
    return idle(s, times) / (s.nmicrobatches * times.work)


def most_waiting(s: PipelineSchedule, rank: int) -> Fraction:
    """The most microbatches whose activations a rank holds at once, in those of its whole share of the model: a stage counts 1/v.

    gpipe        m
    1f1b         min(p - rank, m): its warm-up, and one
    interleaved  min((v-1)p + 2(p-rank-1) + 1, v m) stages, of 1/v each: up to 1 + (p-1)/(p v) times 1F1B's on rank 0
    zb-h1        min(p, m) on every rank; those between I and W hold less
    ValueError for a schedule without a closed form, and for a rank that is not there.
    """
    p, m, v = s.nranks, s.nmicrobatches, s.nvirtual
    _known(s)
    if rank not in range(p):
        raise ValueError(f"a rank is one of 0 to {p - 1}, got {rank!r}")
    forms: dict[str, int | Fraction] = {
        "gpipe": m,
        "1f1b": min(p - rank, m),
        "interleaved": Fraction(min((v - 1) * p + 2 * (p - rank - 1) + 1, v * m), v),
        "zb-h1": min(p, m),
    }
    return Fraction(forms[s.name])
