"""Every published time of nccl-tests and of torch scripts like it, as runs of one shape, with NCCL's model and a plain line beside them.

The tables lie in recorded/public; `runs.py` has the medians that our models are checked against. Pages: recorded-runs, benchmarking.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from statistics import median
from typing import Any, NamedTuple

from helpers.collectives import PROMISES
from helpers.facts import public
from helpers.facts.fit import minimax, worst
from helpers.nccl.platforms import NotPredicted
from helpers.nccl.predict import predict
from helpers.nccl.runs import measured_platform

TIMINGS = "nccl-tests-six-gpus-timings"
NVLS, EACH, LATENCY = "nccl-tests-h200-b200-nvls", "nccl-tests-8xh200-collectives", "nccl-tests-8xa100-latency"
SHORT = {TIMINGS: "six", NVLS: "nvls", EACH: "each", LATENCY: "latency"}
# The tables with a row a size: GPU, NCCL's version where it is stated, the type of an element where it is.
CURVES: Mapping[str, tuple[str, str | None, str | None]] = {
    "nccl-tests-4xh100-all_reduce": ("H100", "2.26.2", "float"),
    "torch-4xh100-all_reduce": ("H100", "2.26.2", None),
    "nccl-tests-8xa100-all_reduce": ("A100", None, None),
    "torch-8xh200-all_reduce": ("H200", "2.27.7", None),
}
FORCED = {"ll": "LL alone", "ll128": "LL128 alone", "simple": "Simple alone"}


class Model(NamedTuple):
    """What NCCL's model says of one size: nanoseconds, and by which algorithm and protocol, "Ring LL"."""

    nanoseconds: int
    way: str


@dataclass(frozen=True)
class Published:
    """One collective on one machine with one version. times: for each size its times in whole nanoseconds, ascending.

    version: the row's own; folder: the version that the folder of the rows is named after, where there is one. Either may be None.
    dtype: None where it is not stated. setting: what was set or differs ("in place", "NVLS off"), else "". table: of `public`.
    worked_out: the times are those of published bandwidths.
    """

    gpu: str
    collective: str
    nranks: int
    dtype: str | None
    version: str | None
    folder: str | None
    setting: str
    table: str
    first: int
    times: tuple[tuple[int, ...], ...]
    worked_out: bool = False

    @property
    def key(self) -> str:
        """Its name in a link: "H100.all_reduce.8.half.2.29.2.in-2.27.3" and the like; no two runs share one."""
        parts = (self.gpu, self.collective, str(self.nranks), self.dtype or "any", self.version or "none")
        folder = f"in-{self.folder}" if self.folder else SHORT.get(self.table, self.table.split("-")[0])
        return ".".join((*parts, folder, *([self.setting.replace(" ", "-")] if self.setting else [])))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes, as nccl-tests counts them; each is twice the one before."""
        return tuple(self.first << i for i in range(len(self.times)))

    @property
    def seconds(self) -> tuple[float, ...]:
        """The median of each size."""
        return tuple(median(cell) / 1e9 for cell in self.times)

    @property
    def busbw(self) -> tuple[float, ...]:
        """Bytes per second, one way per GPU, from the medians."""
        factor = PROMISES[self.collective].bus_factor(self.nranks)
        return tuple(size / second * factor for size, second in zip(self.sizes, self.seconds, strict=True))

    @property
    def named_otherwise(self) -> bool:
        """Whether the rows state another version than their folder."""
        return None not in (self.version, self.folder) and self.version != self.folder

    @property
    def loaded(self) -> str | None:
        """The version that is taken for NCCL's: the row's own, else its folder's."""
        return self.version or self.folder

    @property
    def model(self) -> tuple[Model, ...] | None:
        """NCCL's model of each size; None where it has nothing to say of this machine, collective, version or setting."""
        if self.loaded is None or self.setting not in ("", "in place", "torch script"):
            return None
        return modelled(self.gpu, self.collective, self.nranks, self.loaded, self.sizes)

    @property
    def line(self) -> tuple[float, float, float] | None:
        """(alpha [s], beta [s/B], largest relative error) of the line whose largest error is least; None through a single size."""
        if len(self.times) < 2:
            return None
        alpha, beta = minimax(self.sizes, self.seconds)
        return alpha, beta, worst(self.sizes, self.seconds, alpha, beta)


@cache
def modelled(gpu: str, collective: str, nranks: int, version: str, sizes: tuple[int, ...]) -> tuple[Model, ...] | None:
    """The model on the node of that GPU, with the launch that its own rows up to 4 KiB show; fitted numbers: fitted.toml."""
    machine = measured_platform(gpu)
    try:
        choices = [predict(collective, size, machine, nranks, version) for size in sizes]
    except (NotPredicted, ValueError):
        return None
    return tuple(Model(round(one.seconds * 1e9), f"{one.algorithm} {one.protocol}") for one in choices)


@lru_cache(maxsize=1)
def published() -> tuple[Published, ...]:
    """All of them, table by table; the 9,574 times of the six GPUs first."""
    return (*_six_gpus(), *_curves(), *_nvls(), *_each(), *_latencies())


def _rows(name: str) -> Sequence[Mapping[str, Any]]:
    return public(name).rows


def _six_gpus() -> Iterator[Published]:
    for row in _rows(TIMINGS):
        gpu, collective, nranks, dtype = (row[part] for part in ("gpu", "collective", "nranks", "dtype"))
        times = tuple(tuple(round(1e3 * one) for one in cell) for cell in row["microseconds"])
        version, folder = row["version"], row["folder"]
        yield Published(gpu, collective, nranks, dtype, version, folder, "", TIMINGS, row["nbytes"], times)


def _curves() -> Iterator[Published]:
    for name, (gpu, version, dtype) in CURVES.items():
        rows, nranks = _rows(name), public(name).nranks
        assert nranks is not None, name
        settings = {"": "torch script" if name.startswith("torch") else "", "in_place_": "in place"}
        for half, setting in settings.items():
            if f"{half}algbw" not in rows[0]:
                continue
            worked_out = rows[0][f"{half}seconds"] is None
            times = tuple(
                (round(1e9 * (row[f"{half}seconds"] or row["nbytes"] / (row[f"{half}algbw"] * 1e9))),) for row in rows
            )
            first = rows[0]["nbytes"]
            yield Published(gpu, "all_reduce", nranks, dtype, version, None, setting, name, first, times, worked_out)


def _of_busbw(row: Mapping[str, Any], collective: str, nranks: int, busbw: str) -> tuple[tuple[int, ...], ...]:
    return ((round(row["nbytes"] * PROMISES[collective].bus_factor(nranks) / row[busbw]),),)


def _nvls() -> Iterator[Published]:
    for row in _rows(NVLS):
        for column, setting in (("busbw", ""), ("busbw_nvls_off", "NVLS off")):
            times = _of_busbw(row, "all_reduce", row["nranks"], column)
            stated = row["gpu"], "all_reduce", row["nranks"], None, "2.27.7", None, setting, NVLS
            yield Published(*stated, row["nbytes"], times, worked_out=True)


def _each() -> Iterator[Published]:
    for row in _rows(EACH):
        times = _of_busbw(row, row["collective"], 8, "busbw")
        setting = {True: "NVLS on", False: "NVLS off", None: ""}[row["nvls"]]
        stated = "H200", row["collective"], 8, None, "2.27.7", None, setting, EACH
        yield Published(*stated, row["nbytes"], times, worked_out=True)


def _latencies() -> Iterator[Published]:
    for row in _rows(LATENCY):
        for column, setting in FORCED.items():
            stated = "A100", "all_reduce", row["nranks"], None, None, None, setting, LATENCY
            yield Published(*stated, row["nbytes"], ((round(1e9 * row[column]),),))
