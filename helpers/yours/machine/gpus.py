"""The verdict on nvidia-smi's table: who else is on the GPUs, which are in error, whose power is held down. Chapter: yours."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from helpers.nccl.output.machine.amd import parse_rocm_smi
from helpers.nccl.output.machine.smi import Gpu, Process, Table, parse_tables
from helpers.nccl.output.tables.errors import NoTable
from helpers.units import nbytes_text
from helpers.yours.causes import cause
from helpers.yours.places import Place
from helpers.yours.verdict import CLEAN, Cause, Verdict

BUSY = 90.0  # percent of the time that some kernel ran
SLOWED = ("P5", "P8", "P12", "P15")  # states of a GPU that saves power; P0 to P4 are those of work
SHARE = 0.05  # of a GPU's memory: less is a context without work
FULL = 0.97  # of the power cap
FAILED = {  # what nvidia-smi says in place of a table: the cause, and what it means
    r"couldn't communicate with the NVIDIA driver": (
        "driver",
        "the kernel module is not loaded: as a rule none is built for this kernel",
    ),
    r"Driver/library version mismatch": (
        "driver",
        "the libraries are newer than the kernel module that runs: restart, or load it anew",
    ),
    r"Failed to initialize NVML: Unknown Error": (
        "driver",
        "a container has lost its devices, as when systemd reloads: start it anew",
    ),
    r"Failed to initialize NVML: Insufficient Perm": ("driver", "the user may not open /dev/nvidia*"),
    r"Unable to determine the device handle for|GPU is lost": (
        "GPU in error",
        "a GPU has fallen off the bus: dmesg has an Xid",
    ),
    r"^\W*No devices were found": (
        "GPU in error",
        "the driver runs and finds no GPU: it has failed, or is passed to a virtual machine",
    ),
}
SIGN = re.compile("|".join(FAILED), re.MULTILINE)


def of_failure(text: str, told: Place | None) -> Verdict:
    """nvidia-smi without a table."""
    name, why = next(told for pattern, told in FAILED.items() if re.search(pattern, text, re.MULTILINE))
    said = next(line for line in text.splitlines() if SIGN.search(line))
    return Verdict(
        "machine", "nvidia-smi without a table", f"It says: {said.strip()[:120]}", causes=(cause(name, why),)
    )


def of_table(text: str, told: Place | None) -> Verdict:
    """The table: memory, processes, states. NoTable where no GPU's two lines are whole."""
    tables = parse_tables(text)
    if not tables:
        raise NoTable(
            "this is nvidia-smi's table, and no GPU of it is whole: each has a line with its name and one with its memory"
        )
    first = tables[0]
    what = ", ".join(
        f"{count} {name}" for name, count in Counter(gpu.name for one in tables for gpu in one.gpus).items()
    )
    what += f", driver {first.driver}" if first.driver else ""
    what += f", for CUDA up to {first.cuda}" if first.cuda else ""
    causes = {one.name: one for table in reversed(tables) for one in reversed(list(_causes(table)))}
    ordered = sorted(causes.values(), key=lambda one: not one.accuses)
    return Verdict("machine", f"nvidia-smi of {what}", _memory(first), CLEAN, causes=tuple(ordered))


def of_rocm(text: str, told: Place | None) -> Verdict:
    """rocm-smi's table of AMD's GPUs."""
    gpus = parse_rocm_smi(text)
    if not gpus:
        raise NoTable("this is rocm-smi's table, and no row of it is whole")
    said = f"Their memory is taken by up to {max(gpu.memory or 0 for gpu in gpus):.0f}%, and they are busy up to"
    said += f" {max(gpu.busy or 0 for gpu in gpus):.0f}% of the time; that says how long some kernel ran, and nothing of how much it did."
    what = f"rocm-smi of {len(gpus)} GPU{'s' if len(gpus) > 1 else ''}"
    usual = Counter(gpu.cap for gpu in gpus).most_common(1)[0][0]
    low = next((gpu for gpu in gpus if gpu.cap < usual), None)
    held = next((gpu for gpu in gpus if gpu.level == "low" and (gpu.busy or 0) >= BUSY), None)
    why = f"GPU {low.number} may take {low.cap:.0f} W, others {usual:.0f} W" if low else ""
    why = f"GPU {held.number} is busy and its performance level is low" if held else why
    held_down = cause("clocks held down", why)._replace(
        command="rocm-smi --showperflevel --showmaxpower --showclocks  # while it computes"
    )
    return Verdict("machine", what, said, CLEAN, causes=(held_down,) if why else ())


def _memory(table: Table) -> str:
    used = [gpu.used for gpu in table.gpus if gpu.used is not None and gpu.total]
    said = "It tells no memory"
    if used:
        most = nbytes_text(max(gpu.total or 0 for gpu in table.gpus))
        least = f"{nbytes_text(min(used))} to " if min(used) < max(used) else ""
        said = f"Taken are {least}{nbytes_text(max(used))} of {most} a GPU"
    said += f", by {len(table.processes)} processes." if table.processes else "."
    if any((gpu.util or 0) >= BUSY for gpu in table.gpus):
        said += " GPU-Util says how much of the time some kernel ran, a waiting one of NCCL too, and nothing of how much it did."
    if not any(gpu.stays for gpu in table.gpus):
        said += " Persistence mode is off: the first program on an idle GPU waits until the driver has started it."
    return said


def _causes(table: Table) -> Iterator[Cause]:
    wrong = next((gpu for gpu in table.gpus if gpu.broken or gpu.ecc), None)
    if wrong:
        said = (
            "stands as an error" if wrong.broken else f"has errors of its memory that were not corrected: {wrong.ecc}"
        )
        yield cause("GPU in error", f"GPU {wrong.number} {said}")
    slowed = next((gpu for gpu in table.gpus if gpu.state in SLOWED and (gpu.util or 0) >= BUSY), None)
    if slowed:
        why = f"GPU {slowed.number} is busy {slowed.util:.0f}% of the time in state {slowed.state}, which saves power"
        yield cause("clocks held down", why)
    yield from _caps(table.gpus)
    yield from _others(table.gpus, table.processes)
    if any(gpu.mig for gpu in table.gpus):
        yield cause("MIG", "MIG is on: a part of a GPU reaches no other by P2P or NVLink")


def _caps(gpus: Sequence[Gpu]) -> Iterator[Cause]:
    """Of GPUs of one name, one that may take less power than most."""
    caps = {
        name: Counter(gpu.cap for gpu in gpus if gpu.name == name and gpu.cap) for name in {gpu.name for gpu in gpus}
    }
    usual = {name: found.most_common(1)[0][0] or 0.0 for name, found in caps.items() if found}
    low = next((gpu for gpu in gpus if gpu.cap and gpu.cap < usual[gpu.name]), None)
    if low:
        yield cause(
            "clocks held down", f"GPU {low.number} may take {low.cap:.0f} W, others of its kind {usual[low.name]:.0f} W"
        )
    full = [gpu for gpu in gpus if gpu.cap and gpu.power and gpu.power >= FULL * gpu.cap]
    if full:
        why = f"{len(full)} of {len(gpus)} GPUs take all the power that they may, which is usual at full work: clocks are lower then"
        yield cause("power cap", why)


def _others(gpus: Sequence[Gpu], processes: Sequence[Process]) -> Iterator[Cause]:
    """Two that compute on one GPU, or memory taken by nobody who is named: of the first GPU that has it."""
    for gpu in gpus:
        mine = [one for one in processes if one.gpu == gpu.number]
        least = SHARE * (gpu.total or float("inf"))
        work = [
            one for one in mine if one.kind in ("C", "C+G") and (one.nbytes or 0) > least
        ]  # M+C shares by MPS, on purpose
        if len(work) > 1 and not gpu.mig:
            names = " and ".join(f"{_program(one.name)} ({nbytes_text(one.nbytes or 0)})" for one in work[:3])
            yield cause("other processes", f"on GPU {gpu.number} compute {len(work)} processes: {names}")
            return
        if not mine and (gpu.used or 0) > least:
            taken = nbytes_text(gpu.used or 0)
            why = f"of GPU {gpu.number} {taken} are taken and no process is named: who has them is in another container, or cut off"
            yield cause("other processes", why, accuses=False)
            return


def _program(name: str) -> str:
    """/usr/bin/python3 train.py -> python3."""
    return name.split()[0].rsplit("/", 1)[-1]
