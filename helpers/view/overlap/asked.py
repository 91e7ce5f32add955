"""What the widget `overlap` may be asked: a model on eight GPUs, its tokens, a link, and buckets or units. Chapter: overlap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

from helpers.facts import ACCELERATORS, LINKS
from helpers.overlap import Overlap, fill, gathered, overlap
from helpers.units import MIB, nbytes_text, parse_nbytes
from helpers.view.overlap.jobs import GPUS, OFFERED, backwards, seconds_of, units
from helpers.view.overlap.ways import ways
from helpers.view.shared.mount import Spec

MODES = ("buckets", "units", "recorded")
TOKENS = tuple(2**n for n in range(8, 16))
SHARES = (20, 30, 40, 50, 60, 80, 100)
ALL = 0  # one bucket for everything
BUCKETS = (*(n * MIB for n in (1, 2, 4, 8, 16, 25, 50, 100, 200, 400, 800, 1536, 3072, 6144)), ALL)
PREFETCH = (0, 1, 2)


@dataclass(frozen=True)
class OverlapSpec(Spec):
    """The whole state of the widget. tokens: of one GPU in a step; share: of the datasheet's rate, in percent; link: a slug.

    mode: gradients in "buckets" of so many bytes (0: one for everything), sharded "units" that are gathered `prefetch` ahead, or a
    "recorded" step of four ranks, `way`.
    """

    model: str
    gpu: str
    link: str
    tokens: int
    share: int
    mode: str
    bucket: int
    prefetch: int
    way: str

    @property
    def rate(self) -> float:
        """Operations a second."""
        return ACCELERATORS[self.gpu].peak("bf16").quantity * self.share / 100

    @cached_property
    def layers(self) -> list[tuple[float, int]]:
        return backwards(self.model, self.tokens, self.rate)

    @property
    def forward(self) -> float:
        """Seconds of it: half of backward's."""
        return sum(seconds for seconds, _ in self.layers) / 2

    @cached_property
    def shown(self) -> Overlap:
        """The step, computed. ValueError for one that is recorded: it is in `ways`."""
        if self.mode == "recorded":
            raise ValueError(f"a recorded step is not computed: look at ways()['ways'][{self.way!r}]")
        if self.mode == "units":
            return gathered(units(self.model, self.tokens, self.rate), self.prefetch, self._shared)
        all_ = max(sum(nbytes for _, nbytes in self.layers), 1)
        buckets = fill(self.layers, self.bucket or all_, before=self.forward)
        computed = self.forward + sum(seconds for seconds, _ in self.layers)
        return overlap(computed, buckets, partial(seconds_of, "all_reduce", self.link))

    @property
    def others(self) -> list[OverlapSpec]:
        """The same step with every size of a bucket that is offered, or every prefetch; or every recorded one."""
        if self.mode == "recorded":
            return [replace(self, way=name) for name in ways()["ways"]]
        if self.mode == "units":
            return [replace(self, prefetch=n) for n in PREFETCH]
        return [replace(self, bucket=n) for n in BUCKETS]

    def _shared(self, nbytes: int) -> float:
        """An all_gather; a reduce_scatter of as many bytes takes as long."""
        return seconds_of("all_gather", self.link, nbytes)


def bucket_text(nbytes: int) -> str:
    """ "25 MiB", "all"."""
    return nbytes_text(nbytes) if nbytes else "everything"


def overlap_spec(
    mode: str = "buckets",
    bucket: int | str = "25 MiB",
    prefetch: int = 1,
    model: str = "Llama-2-7B",
    tokens: int = 4096,
    gpu: str = "H200",
    link: str = "nvlink-4",
    share: int = 40,
    way: str = "overlapped",
) -> OverlapSpec:
    """The state that the reader begins with. bucket: bytes or words, "all" for one bucket. ValueError naming what is offered."""
    size = ALL if bucket == "all" else parse_nbytes(bucket)
    among = {"mode": (mode, MODES), "model": (model, OFFERED), "gpu": (gpu, GPUS), "link": (link, tuple(LINKS))}
    among |= {"tokens": (tokens, TOKENS), "share": (share, SHARES), "prefetch": (prefetch, PREFETCH)}
    among["way"] = (way, tuple(ways()["ways"]))
    for name, (value, offered) in among.items():
        if isinstance(value, bool | float) or value not in offered:
            raise ValueError(f"{name} must be one of {', '.join(map(str, offered))}, got {value!r}")
    if isinstance(bucket, bool) or size not in BUCKETS:
        offered_sizes = ", ".join(nbytes_text(n) for n in BUCKETS if n)
        raise ValueError(f"bucket must be one of {offered_sizes}, or all, got {bucket!r}")
    return OverlapSpec(model, gpu, link, tokens, share, mode, size, prefetch, way)
