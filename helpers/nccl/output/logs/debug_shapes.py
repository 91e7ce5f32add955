"""The shapes of NCCL_DEBUG=INFO's lines: which words begin a kind of line, and what the whole line must look like.

Read in src/init.cc, src/enqueue.cc, src/graph/rings.cc, src/graph/paths.cc, src/misc/param.cc and src/transport of github.com/NVIDIA/nccl
at the tags v2.7.8-1, v2.10.3-1, v2.18.3-1, v2.18.6-1, v2.19.4-1, v2.20.5-1, v2.21.5-1, v2.22.3-1, v2.23.4-1, v2.24.3-1, v2.26.2-1,
v2.27.5-1, v2.27.7-1, v2.28.9-1, v2.29.7-1 and v2.30.7-1. Chapters: inside-nccl, choosing.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LEVEL = re.compile(r"NCCL (?P<level>INFO|WARN) ")
LONGEST_ORIGIN = 300  # characters before LEVEL that are looked at
ORIGIN = re.compile(  # "host:pid:thread [device] ", and before WARN the place in NCCL's source
    r"(?P<host>[^\s:]{1,120}):(?P<pid>\d{1,10}):(?P<thread>\d{1,10}) \[(?P<device>-?\d{1,4})\] (?:[^\s:]{1,80}:\d+ (?:\([^()]*\) )?)?$",
    re.ASCII,
)
VERSION = re.compile(r"NCCL version (\d+\.\d+\.\d+[\w.-]*)\+cuda(\d+\.\d+)", re.ASCII)

_N = r"(?:0|[1-9]\d{0,8})"  # C's %d: no leading zero
_BYTES = r"(?:0|[1-9]\d{0,17})"
_TWO = r"(?:\d\d|[1-9]\d\d)"  # %02d
_SIGNED = rf"(?:-1|{_N})"
_COMM = rf"comm (?P<comm>0x[0-9a-f]+) rank (?P<rank>{_N})"
_ID = r"(?: commId (?P<id>0x[0-9a-f]+)| parent 0x[0-9a-f]+.*?)?"
_ENDS = rf"(?P<src>{_N})\[[0-9a-f]+\] -> (?P<dst>{_N})\[[0-9a-f]+\]"
_NET = (
    rf"\[(?P<end>send|receive)\] via NET/(?P<network>[^/]+)/(?P<nic>{_N})(?:\((?P<proxy>{_N})\))?"
    r"(?P<gdr>/GDRDMA(?:\(PCI\))?)?(?:/Shared)?"
)
_LOCAL = r"via (?:(?P<kind>P2P|SHM)/(?P<how>[\w/ ]+(?:\[[0-9a-f]+\])?(?:/read)?)|(?P<old>direct shared memory))"
NUMBERED = r"(?P<algorithm>\d) proto (?P<protocol>\d) time (?P<time>(?:0|[1-9]\d{0,17})\.\d{6})"
NAMED = rf"(?P<named>[A-Z_]+) proto (?P<proto>[A-Z0-9]+) channel\{{Lo\.\.Hi\}}=\{{(?P<low>{_N})\.\.(?P<high>{_N})\}}"
NAME = r"[A-Z][A-Z0-9]*_[A-Z0-9_]+"


class Shape(NamedTuple):
    """begins: a line that begins so is of this kind; whole: what it must be from end to end to be believed."""

    kind: str
    begins: str
    whole: re.Pattern[str]


def _shape(kind: str, begins: str, whole: str) -> Shape:
    return Shape(kind, begins, re.compile(whole, re.ASCII))


SHAPES = (
    _shape("version", r"NCCL version", VERSION.pattern),
    _shape("network", r"Using network", r"Using network (?P<name>\S.*?)"),
    _shape(
        "member",
        r"(?:\[Rank \d+\] )?(?:ncclComm\w+ )?comm 0x\S* rank \d+ nranks",
        rf"(?:\[Rank \d+\] )?(?:ncclComm\w+ )?{_COMM} nranks (?P<nranks>{_N}) cudaDev \d+(?: nvmlDev \d+)? busId [0-9a-f]+{_ID}"
        r" ?- (?P<what>Init START|Init COMPLETE|Abort COMPLETE|Destroy COMPLETE)",
    ),
    _shape(
        "nodes",
        r"comm 0x\S* rank \d+ nRanks",
        rf"{_COMM} nRanks (?P<nranks>{_N}) nNodes (?P<nodes>{_N}) localRanks (?P<locals>{_N}) localRank (?P<local>{_N})(?: MNNVL \d+)?",
    ),
    _shape(
        "ring",
        r"Channel \d+/\d+ :\s+\d+(?!\[|\d)",
        rf"Channel (?P<channel>{_TWO})/(?P<channels>{_TWO}) :(?P<ranks>(?: +{_N})+)(?P<cut> ?\d*\.\.\.)? *",
    ),
    _shape(
        "trees",
        r"Trees \[",
        rf"Trees(?P<trees>(?: \[{_N}\] (?:{_SIGNED}/){{2}}{_SIGNED}->{_N}->{_SIGNED})+)(?P<rest>.*)",
    ),
    _shape(
        "connection",
        r"Channel \d+(?:/\d+)? ?: ?\d+\[",
        rf"Channel (?P<channel>{_TWO})(?:/\d)? : {_ENDS} (?:{_NET}|{_LOCAL})(?: comm 0x[0-9a-f]+ nRanks \d+)?",
    ),
    _shape(
        "chosen",
        r"(?:\w+: )?-?\d+ Bytes -> Algo",
        rf"(?:(?P<collective>\w+): )?(?P<nbytes>{_BYTES}) Bytes -> Algo (?:{NUMBERED}|{NAMED})",
    ),
    _shape(
        "nvls",
        r"NVLS multicast support",
        rf"NVLS multicast support is (?P<no>not )?available on dev (?P<device>{_N})(?: \(NVLS_NCHANNELS \d+\))?",
    ),
    _shape(
        "nvls comm",
        r"NVLS comm",
        r"NVLS comm (?P<comm>0x[0-9a-f]+) headRank -?\d+ nHeads \d+(?: nvlsRanks \d+)? buffSize \d+(?: memSize \d+)?"
        rf" nvlsPerRankSize (?P<each>{_BYTES}) nvlsTotalSize (?P<total>{_BYTES})",
    ),
    _shape("chunk", r"P2P Chunksize", rf"P2P Chunksize set to (?P<bytes>{_BYTES})\.?"),
    _shape(
        "set", rf"{NAME} set (?:by environment )?to", rf"(?P<name>{NAME}) set (?:by environment )?to (?P<value>\S.*?)"
    ),
    _shape(
        "plugin",
        r"\w+/Plugin ?: (?:Loaded|Using) ",
        r"(?P<kind>\w+)/Plugin ?: (?:Loaded|Using)\b(?: \w+ plugin)? ?(?P<name>\S.*?)",
    ),
    _shape("invalid", r"Invalid value ", rf"Invalid value (?P<value>.+) for (?P<name>{NAME}), using default -?\d+\."),
    _shape("unused", r"Warning: ENV ", rf"Warning: ENV (?P<name>{NAME}) is unused\. Setting it has no effect\."),
    _shape(
        "left",
        rf"{NAME}[ =]-?\d+ is (?:not valid|being ignored)",
        rf"(?P<name>{NAME})[ =](?P<value>-?\d+) is (?:not valid, leaving it set at -?\d+|being ignored because .+)",
    ),
)
_BEGINS = re.compile(
    "|".join(f"({shape.begins})" for shape in SHAPES), re.ASCII
)  # all at once: most lines are of no kind


def which(text: str) -> Shape | None:
    """The first shape that the line begins as."""
    found = _BEGINS.match(text)
    return SHAPES[found.lastindex - 1] if found and found.lastindex else None


ALGORITHMS = {
    "TREE": "Tree",
    "RING": "Ring",
    "COLLNET_DIRECT": "CollNetDirect",
    "COLLNET_CHAIN": "CollNetChain",
    "NVLS": "NVLS",
    "NVLS_TREE": "NVLSTree",
    "PAT": "PAT",
}  # NCCL's numbers, 0 to 6, are in this order
PROTOCOLS = {"LL": "LL", "LL128": "LL128", "SIMPLE": "Simple"}  # 0 to 2
