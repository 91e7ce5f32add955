"""The constants of NCCL's cost model, version by version.

Read in src/graph/tuning.cc, search.cc, connect.cc, topo.h and src/transport/nvls.cc at the tags v2.23.4-1, v2.26.2-1, v2.27.3-1, v2.27.7-1,
v2.28.9-1, v2.29.2-1, v2.29.3-1, v2.29.7-1 and v2.30.7-1 of github.com/NVIDIA/nccl. Microseconds and GB/s (1e9), as NCCL counts.
2.31.2, 2.32.3 and 2.32.6 are refused: their source is not read here. 2.31.2 lets a call name its algorithm, 2.32.6 adds a model of
pipelines with constants for Vera Rubin (their release notes).
Chapter: inside-nccl.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

Triple = tuple[float, float, float]  # by protocol: LL, LL128, Simple; or by nodes: one, two, more
Caps = Mapping[str, Triple]  # by generation: on one node, two, more
GENERATIONS = ("Volta", "Ampere", "Hopper", "Blackwell")
PROTOCOL_ORDER = ("LL", "LL128", "Simple")

# The same in every version.
BASE: Mapping[str, Triple] = {"Tree": (6.8, 14.0, 8.4), "Ring": (6.6, 14.0, 8.4)}
HOP: Mapping[str, Mapping[str, Triple]] = {
    "NVLink": {"Tree": (0.6, 1.25, 4.0), "Ring": (0.6, 1.9, 3.4)},
    "PCIe": {"Tree": (1.0, 1.9, 4.0), "Ring": (1.0, 2.5, 5.7)},
    "network": {"Tree": (5.0, 8.5, 14.0), "Ring": (2.7, 4.0, 14.0)},
}
NVLS_EFFICIENCY: Mapping[str, float] = {"Hopper": 0.85, "Blackwell": 0.74}  # stated from 2.28 on
NVLS_LATENCY = 25.0  # inside a node, in place of a base
PAT_PER_RANK = 2.8
# A tree's bandwidth in the middle, by floor(log2(nbytes / 64)): "not perfectly sticking to the model for medium sizes".
TREE_FACTORS: Mapping[str, tuple[float, ...]] = {
    "LL": (1, 1, 1, 1, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1, 1, 1),
    "LL128": (1, 1, 1, 1, 1, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1, 1),
    "Simple": (0.9,) * 7 + (0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9),
}
INTRA = (40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0)
INTRA_90 = (60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0)


@dataclass(frozen=True, eq=False)  # one a version: told apart by which it is
class Release:
    """What one version knows. Caps by generation, each on one node, two, and more.

    ll_max: LL's whole bandwidth (on several nodes by processor: `ll_max_network`). ring_ll128, tree, tree_ll128, nvls_tree: the
    most of one channel. nvls_efficiency: None where the rule is min(inside, between) * 5/6. speeds_100, between_100: the search's
    speeds for a channel on Blackwell, in one node and between. link: one NVLink, by generation. nvls_blocks_100: thread blocks of
    NVLS on Blackwell, one node and more. rings_as_nvls: a communicator has at least NVLS's blocks as channels, to 2.27.
    """

    version: str
    ring_ll128: Caps
    tree: Caps
    tree_ll128: Caps
    nvls_tree: Caps | None = None
    ll_max: Mapping[str, float] | None = None
    nvls_efficiency: Mapping[str, float] | None = None
    nvls_tree_hop: float = 14.0
    pat_base: float = 0.0
    pat_share: float = 0.75
    speeds_100: tuple[float, ...] = ()
    between_100: tuple[float, ...] = ()
    link: Mapping[str, float] | None = None
    nvls_blocks_100: tuple[int, int] = (32, 32)
    rings_as_nvls: bool = True

    @property
    def number(self) -> tuple[int, ...]:
        """(2, 27, 7)"""
        return parts(self.version)


def _on(caps: Caps, blackwell: Triple) -> Caps:
    return {**caps, "Blackwell": blackwell}


_RING_LL128: Caps = {"Volta": (20.0,) * 3, "Ampere": (20.0,) * 3, "Hopper": (36.7,) * 3}
_TREE_LL128: Caps = {"Volta": (20.0,) * 3, "Ampere": (20.0,) * 3, "Hopper": (36.7, 36.7, 29.0)}
_TREE: Caps = {"Volta": (26.5, 18.5, 10.0), "Ampere": (24.0, 23.6, 17.8), "Hopper": (38.7, 41.4, 36.0)}
_NVLS_TREE: Caps = {"Hopper": (0.0, 57.7, 45.5), "Blackwell": (0.0, 96.0, 43.8)}
_LL_MAX = {"Volta": 39.0, "Ampere": 87.7, "Hopper": 141.0}
_LINK = {"Volta": 20.0, "Ampere": 20.0, "Hopper": 20.6}
_SLOWER = (42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4, 1.2, 0.24, 0.12)
LL_MAX_NETWORK: Mapping[str, Triple] = {"Intel": (39.0, 39.0, 20.4), "AMD": (87.7, 22.5, 19.0)}  # others as Intel

_V23 = Release("2.23", _RING_LL128, _TREE, _TREE_LL128, ll_max=_LL_MAX, link=_LINK, pat_share=0.85)
_V26 = replace(
    _V23,
    version="2.26",
    ring_ll128=_on(_RING_LL128, (73.4,) * 3),
    tree=_on(_TREE, (77.4, 82.8, 72.0)),
    tree_ll128=_on(_TREE_LL128, (73.4, 73.4, 58.0)),
    ll_max={**_LL_MAX, "Blackwell": 282.0},
    link={**_LINK, "Blackwell": 40.0},
    speeds_100=(90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 19.0),
    between_100=(48.0, 45.0, *_SLOWER),
    pat_share=0.75,
)
_V27 = replace(
    _V26,
    version="2.27",
    speeds_100=(*_V26.speeds_100, 18.0),
    between_100=(47.9, 45.0, *_SLOWER),
    nvls_blocks_100=(24, 32),
)
_V27_7 = replace(_V27, version="2.27.7", between_100=(96.0, 48.0, 45.1, *_SLOWER))
_V28 = replace(
    _V27_7,
    version="2.28",
    rings_as_nvls=False,
    ring_ll128=_on(_RING_LL128, (73.4, 34.6, 73.4)),
    tree=_on(_TREE, (70.0, 42.8, 24.0)),
    tree_ll128=_on(_TREE_LL128, (55.6, 31.67, 20.0)),
    nvls_tree=_NVLS_TREE,
    nvls_efficiency=NVLS_EFFICIENCY,
    nvls_tree_hop=20.9,
    pat_base=8.0,
    link={**_LINK, "Blackwell": 40.1},
)
_V29_2 = replace(
    _V28,
    version="2.29.2",
    ring_ll128=_on(_RING_LL128, (34.5, 34.6, 34.5)),
    speeds_100=(90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0),
)
_V29_7 = replace(
    _V29_2,
    version="2.29.7",
    ring_ll128=_on(_RING_LL128, (40.0,) * 3),
    between_100=(96.0, 80.0, 48.0, 45.1, *_SLOWER),
)
_V30 = replace(
    _V29_7,
    version="2.30",
    nvls_tree={**_NVLS_TREE, "Blackwell": (0.0, 96.0, 80.0)},
    between_100=(96.0, 86.0, 80.0, 48.0, 45.1, *_SLOWER),
)
RELEASES = (_V23, _V26, _V27, _V27_7, _V28, _V29_2, _V29_7, _V30)
LATEST = "2.30.7"


def parts(version: str) -> tuple[int, ...]:
    """ "2.27.7" -> (2, 27, 7); ValueError for what is no version."""
    try:
        return tuple(int(part) for part in version.split("."))
    except (ValueError, AttributeError):
        raise ValueError(f"a version is written like {LATEST!r}, got {version!r}") from None


def release_of(version: str = LATEST) -> Release:
    """The rules that a version decides by: those of the newest version read that is not newer than it.

    ValueError before 2.23 and from 2.31 on: their source was not read.
    """
    number = parts(version)
    if not (2, 23) <= number < (2, 31):
        raise ValueError(f"the rules of NCCL 2.23 to 2.30 are known here, not those of {version}")
    return max((release for release in RELEASES if release.number <= number), key=lambda release: release.number)
