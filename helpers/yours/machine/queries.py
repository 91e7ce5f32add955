"""The verdict on `nvidia-smi -q` and `nvidia-smi nvlink`: what holds clocks down, lanes, errors, links that are off. Chapter: yours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from helpers.nccl.output.machine.smi import Linked, Queried, parse_links, parse_queries
from helpers.nccl.output.tables.errors import NoTable
from helpers.units import bandwidth_text
from helpers.yours.causes import cause
from helpers.yours.places import Place
from helpers.yours.verdict import CLEAN, Cause, Verdict

REASONS = {  # that accuse, in the words of nvidia-smi -q
    "HW Thermal Slowdown": "it is too hot",
    "HW Power Brake Slowdown": "the machine's power supply asked it to slow down",
    "HW Slowdown": "the hardware slowed it down, by heat or by power",
    "SW Thermal Slowdown": "it or its memory is too hot",
}
UP = ("Completed", "N/A")  # of the fabric


def of_queries(text: str, told: Place | None) -> Verdict:
    """nvidia-smi -q: what holds clocks down, lanes, memory's errors, the fabric."""
    found = parse_queries(text)
    if not found:
        raise NoTable("this is nvidia-smi -q without a GPU")
    active = Counter(reason for one in found for reason in one.reasons)
    said = ", ".join(f"{reason} ({n} of {len(found)})" for reason, n in active.items())
    sentence = (
        f"What holds the clocks where they are: {said}." if said else "It names nothing that holds the clocks down."
    )
    causes = {one.name: one for query in reversed(found) for one in _of_query(query)}
    ordered = sorted(causes.values(), key=lambda one: not one.accuses)
    return Verdict("machine", f"nvidia-smi -q of {_gpus(len(found))}", sentence, CLEAN, causes=tuple(ordered))


def _of_query(one: Queried) -> Iterator[Cause]:
    gpu = f"GPU {one.gpu}" if one.gpu else "the GPU"
    if one.limits and one.limits[0] < one.limits[1]:
        why = f"{gpu} may take {one.limits[0]:.0f} W, and its default is {one.limits[1]:.0f} W: somebody lowered the limit"
        yield cause("clocks held down", why)
    if reason := next((reason for reason in REASONS if reason in one.reasons), None):
        yield cause("clocks held down", f"{gpu}: {reason} is active: {REASONS[reason]}")
    elif "SW Power Cap" in one.reasons:
        yield cause("power cap", f"{gpu} runs at lower clocks to keep to its power, which is usual at full work")
    if one.lanes and one.lanes[1] < one.lanes[0]:
        yield cause("narrow slot", f"{gpu} runs with {one.lanes[1]} of {one.lanes[0]} lanes of its slot")
    if one.ecc or one.failed:
        said = "could not replace a bad row of its memory"
        yield cause(
            "GPU in error",
            f"{gpu} {said if one.failed else f'has errors of its memory that were not corrected: {one.ecc}'}",
        )
    elif one.pending:
        why = f"{gpu} has a bad row of memory that is replaced when the GPU is reset"
        yield cause("GPU in error", why, accuses=False)
    if one.fabric and one.fabric not in UP:
        yield cause("GPU in error", f"{gpu}: the NVLink fabric is {one.fabric}: does nvidia-fabricmanager run?")


def of_links(text: str, told: Place | None) -> Verdict:
    """nvidia-smi nvlink -s and -e: links that are off or slower where others are not, and errors of links."""
    found = parse_links(text)
    on = [[rate for rate in one.rates.values() if rate] for one in found]
    most, rates = max(map(len, on), default=0), [rate for one in on for rate in one]
    said = "No link is active: these GPUs have none, or no bridge." if any(one.rates for one in found) else ""
    if rates:
        said = f"{most} links a GPU at most, {bandwidth_text(max(rates))} one way each."
    counted = [count for one in found for count in one.errors.values()]
    said += f" {sum(map(bool, counted))} of {len(counted)} counters of errors are above 0." if counted else ""
    what = f"NVLinks of {_gpus(len(found))}, from nvidia-smi nvlink"
    return Verdict("machine", what, said.strip(), CLEAN, causes=tuple(_of_links(found, on, most)))


def _of_links(found: Sequence[Linked], on: Sequence[Sequence[float]], most: int) -> Iterator[Cause]:
    """The first of: links that are off, slower links, links that were trained anew, other errors."""
    rates = Counter(rate for one in on for rate in one)
    listed = max(
        (len(one.rates) for one in found), default=0
    )  # with those that are off; fewer stand where the text was cut
    short = next(
        (
            (one.gpu, len(mine))
            for one, mine in zip(found, on, strict=True)
            if one.rates and len(mine) < most and (len(one.rates) == listed or (one.gpu and one is not found[-1]))
        ),
        None,
    )
    slow = next(
        ((one.gpu, min(mine)) for one, mine in zip(found, on, strict=True) if mine and min(mine) < max(rates)), None
    )
    errors = [(one.gpu, name, count) for one in found for name, count in one.errors.items() if count]
    if short:
        yield cause("links off", f"GPU {short[0]} has {short[1]} links that are active, others have {most}")
    elif slow and 2 * rates[max(rates)] > sum(rates.values()):
        low, high = bandwidth_text(slow[1]), bandwidth_text(max(rates))
        yield cause("links off", f"a link of GPU {slow[0]} has {low} one way, others {high}")
    elif errors:
        gpu, name, count = next((one for one in errors if "Recovery" in one[1]), errors[0])
        trained = "Recovery" in name
        why = "the link had to be trained anew" if trained else "a few since the start cost nothing"
        yield cause("links off", f"GPU {gpu}, {name} {count}: {why}", accuses=trained)


def _gpus(n: int) -> str:
    return f"{n} GPU{'s' if n != 1 else ''}"
