"""The exercises of the chapter `annotations`: pairs that are summed as seldom as by hand, FSDP in words, and bytes read off a line of HLO.

The first two train on real ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import torch

from helpers.hlo import parse_hlo_collectives
from helpers.parallel import Training, difference, train
from helpers.parallel.annotated import LAYOUTS, Layout, by_dtensor, by_hand, total
from helpers.ranks import Ranks
from helpers.units import nbytes_text

from .answer import Answer, NotYetError, judge
from .on_ranks import on_ranks

DEADLINE = 60.0  # seconds: for the ranks not to wait for an answer that never ends


# layouts that train --------------------------------------------------------------------------------------------------------
@cache
def job() -> Training:
    """The deep MLP: four matrices."""
    return Training(steps=1)


def as_pairs(answer: Callable[[], Layout], ranks: Ranks) -> Answer:
    """answer(): a Layout with which job() trains as one process does, each rank keeps a part of every matrix, and by DTensor one sum ends
    each pair forward, and each but the first backward. No batch is cut, nothing else is sent. ranks: the layout divides by them."""
    return _like(answer, ranks, "pairs", "Every rank has a part of each matrix, and as few sums as by hand.")


def as_fsdp(answer: Callable[[], Layout], ranks: Ranks) -> Answer:
    """answer(): a Layout with which job() trains as one process does: every rank has its samples and a part of every matrix, gathers each
    matrix once, and scatters each gradient once. One number more is summed, the loss."""
    return _like(
        answer, ranks, "the same, gathered", "Matrices are gathered once and gradients scattered once, as FSDP does."
    )


def _like(answer: Callable[[], Layout], ranks: Ranks, name: str, praise: str) -> Answer:
    return judge(["your layout"], lambda _: _trained(answer(), ranks, name), praise)


def _trained(given: object, ranks: Ranks, name: str) -> None:
    nranks, model = ranks.world.nranks, LAYOUTS[name]
    if not isinstance(given, Layout):
        raise NotYetError(f"Expected a Layout, got {given!r}.")
    _kept(given, model, nranks)
    found = on_ranks(ranks, _run, given, limit=DEADLINE)
    if (far := max(difference(one, train(job())) for one in found)) > job().tolerance:
        raise NotYetError(f"It ends {far:.1e} away from one process.")
    want = by_hand(job(), model, nranks)
    got = {op: found[0].moved.ncalls(op) for op in found[0].moved.by_op()}
    sent, least, calls = found[0].moved.sent(), total(want), {op: calls for op, (calls, _) in want.items()}
    if got != calls or sent != least:
        raise NotYetError(
            f"It trains, with {_calls(got)}, {nbytes_text(float(sent))} from each rank;"
            f" {_calls(calls)} and {nbytes_text(float(least))} are enough. Hint: {HINTS[name]}"
        )


HINTS = {
    "pairs": "which product's output is read by whom, and what have you said of it?",
    "the same, gathered": "say that a matrix is whole in front of its product, or DTensor decides.",
}


def _kept(given: Layout, model: Layout, nranks: int) -> None:
    """What a rank keeps, and which samples it has, before anything is launched. NotYetError says where it differs."""
    try:
        given.check(job(), nranks)
    except ValueError as error:
        raise NotYetError(f"Refused before anything starts: {error}") from None
    shapes = job().model.shapes
    for i in range(job().model.depth):
        shape = shapes[f"{i}.weight"]
        mine, want = (one.share(shape, one.weight(i), nranks) for one in (given, model))
        if mine > want:
            raise NotYetError(f"A rank keeps {mine} numbers of matrix {i}, and {want} are its part.")
    mine, want = (one.share((job().batch, job().model.width), one.batch, nranks) for one in (given, model))
    if mine != want:
        raise NotYetError(f"A rank has {mine} numbers of the batch, expected {want}.")


def _calls(found: dict[str, int]) -> str:
    return ", ".join(f"{number} {op}" for op, number in found.items()) or "no collectives"


def _run(layout: Layout) -> object:
    torch.set_num_threads(1)
    return by_dtensor.train(job(), layout)


# a line of HLO -------------------------------------------------------------------------------------------------------------
ALL = "replica_groups={{0,1,2,3,4,5,6,7}}"
LINES = (  # what stands before the operation's name, the operation, its inputs' types, and what stands behind
    ("f32[16]", "all-reduce", ("f32[16]",), "replica_groups={{0,1},{2,3},{4,5},{6,7}}, to_apply=%add"),
    ("f64[8,16]{1,0}", "all-reduce", ("f64[8,16]{1,0}",), f"channel_id=2, {ALL}, to_apply=%add"),
    ("bf16[4096,1024]{1,0}", "all-gather", ("bf16[512,1024]{1,0}",), f"channel_id=1, {ALL}, dimensions={{0}}"),
    (
        "f32[2,1024]{1,0}",
        "reduce-scatter",
        ("f32[8,1024]{1,0}",),
        "replica_groups=[2,4]<=[8], dimensions={0}, to_apply=%add",
    ),
    (
        "(f32[], bf16[64,64]{1,0})",
        "all-reduce",
        ("f32[]", "bf16[64,64]{1,0}"),
        "replica_groups=[4,2]<=[2,4]T(1,0), to_apply=%add",
    ),
    ("f32[8,8]{1,0}", "all-to-all", ("f32[8,8]{1,0}",), f"{ALL}, dimensions={{0}}"),
)


def line_of(case: tuple[str, str, tuple[str, ...], str]) -> str:
    """A line as XLA writes it."""
    out, op, inputs, behind = case
    return f"%it = {out} {op}({', '.join(f'%p{i}' for i in range(len(inputs)))}), {behind}"


def sent_of(case: tuple[str, str, tuple[str, ...], str]) -> Fraction:
    """Bytes that device 0 must send for it, by `helpers.hlo`, with a program of eight devices around the line."""
    given = [f"  %p{i} = {kind} parameter({i})" for i, kind in enumerate(case[2])]
    add = "%add (a: f32[], b: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n  ROOT %c = f32[] add(%a, %b)\n}\n\n"
    head = "HloModule line, num_partitions=8\n\n"
    body = "\n".join(["ENTRY %main () -> () {", *given, f"  ROOT {line_of(case)}", "}"])
    return parse_hlo_collectives(head + (add if "to_apply" in case[3] else "") + body).sent(0)


def bytes_of_a_line(answer: Callable[[str], float]) -> Answer:
    """answer(line): the bytes that one device must at least send for the collective in a line of HLO, for eight devices."""
    return judge(LINES, lambda case: _line(answer, case), f"{len(LINES)} lines of HLO, to the byte.")


def _line(answer: Callable[[str], float], case: tuple[str, str, tuple[str, ...], str]) -> None:
    line, want = line_of(case), sent_of(case)
    got = answer(line)
    if isinstance(got, bool) or not isinstance(got, int | float | Fraction) or abs(got - want) > 1e-6 * want:
        raise NotYetError(
            f"{line}: you say {got!r} B, a device sends {float(want):g} B. Hint: how many are in one group, is the type on the left"
            " the input or the output, and how many bytes has a number?"
        )


__all__ = ["Layout", "as_fsdp", "as_pairs", "bytes_of_a_line"]
