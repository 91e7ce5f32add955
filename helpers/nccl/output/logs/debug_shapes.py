"""The shapes of NCCL_DEBUG=INFO's lines: which words begin a kind of line, and what the whole line must look like.

Read in src/init.cc, src/enqueue.cc, src/graph/rings.cc, src/graph/paths.cc, src/misc/param.cc and src/transport of github.com/NVIDIA/nccl
at the tags v2.7.8-1, v2.10.3-1, v2.18.3-1, v2.18.6-1, v2.19.4-1, v2.20.5-1, v2.21.5-1, v2.22.3-1, v2.23.4-1, v2.24.3-1, v2.26.2-1,
v2.27.5-1, v2.27.7-1, v2.28.9-1, v2.29.7-1 and v2.30.7-1, in the libraries 2.31.2 and 2.32.3, and in ROCm/rccl at rocm-6.1.2 and 0cbce2a7.

What NCCL adds to a line it adds behind the words that were there, so a line whose known words are whole counts, whatever follows them.
Rings and trees are lists, and have to end. Chapters: inside-nccl, choosing.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LEVEL = re.compile(r"NCCL (?P<level>INFO|WARN|ATTN) ")
LONGEST_ORIGIN = 300  # characters before LEVEL that are looked at
ORIGIN = re.compile(  # "host:pid:thread [device] ", and before WARN the place in NCCL's source; each may be blacked out, or gone
    r"(?:(?!\d\d:\d\d:\d\d[ .,])(?P<host>[^\s:]{0,120}):(?P<pid>[^\s:]{1,20}):(?P<thread>[^\s:]{1,20}) )?"
    r"\[(?P<device>-?\d{1,4})\] (?P<place>[^\s:]{1,80}:\d+ (?:\([^()]*\) )?)?$",
    re.ASCII,
)
CLOCK = re.compile(r"\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d[\d.,]*Z?\]? ?", re.ASCII)
CLOSED = re.compile(  # nothing that could still follow would say another thing
    r"(?:Init \w+|/GDRDMA|P2P/(?:IPC|CUMEM|direct pointer)(?:/read)?|SHM/\w+/(?:direct|CE)|NET/Socket/\d+|\d\)|\}|\w\.|\+cuda\d+\.\d+)$",
    re.ASCII,
)

_N = r"(?:0|[1-9]\d{0,8})"  # C's %d: no leading zero
_BYTES = r"(?:0|[1-9]\d{0,17})"
_TWO = r"(?:\d\d|[1-9]\d\d)"  # %02d
_SIGNED = rf"(?:-1|{_N})"
_COMM = rf"comm (?P<comm>0x\S+) rank (?P<rank>{_N})"
_ID = r"(?:.*? commId (?P<id>0x\S+?))?(?: .*)?"
_SECONDS = r"\d{1,9}\.\d{2}"
_ENDS = rf"(?P<src>{_N})\[[0-9a-f]+\] -> (?P<dst>{_N})\[[0-9a-f]+\]"
_NET = (
    rf"\[(?P<end>send|receive)\] via NET/(?P<network>[^/]+)/(?P<nic>{_N})(?:\((?P<proxy>{_N})\))?"
    r"(?P<over>(?!\d).*)"
)
_LOCAL = r"via (?:(?P<kind>P2P|SHM)/(?P<how>(?:direct pointer|(?:in)?direct/\d+\[[0-9a-f]+\]|\w+)(?:/\w+)*)|(?P<old>direct shared memory))"
PLACE = re.compile(r"(\S+:\d+) (?:\([^()]*\) )?$", re.ASCII)
STAGED = re.compile(
    r"(?:/Shared)?(?:/flush=\w+)?(?:[ ,].*)?", re.ASCII
)  # behind a card that does not read the GPU's memory
NUMBERED = r"(?P<algorithm>\d) proto (?P<protocol>\d) time (?P<time>(?:0|[1-9]\d{0,17})\.\d{6})"
NAMED = rf"(?P<named>[A-Z_]+) proto (?P<proto>[A-Z0-9]+) channel\{{Lo\.\.Hi\}}=\{{(?P<low>{_N})\.\.(?P<high>{_N})\}}"
NAME = r"[A-Z][A-Z0-9]*_[A-Z0-9_]+"


class Shape(NamedTuple):
    """begins: a line that begins so is of this kind; whole: what it must be to be believed, whatever a later version adds behind it."""

    kind: str
    begins: str
    whole: re.Pattern[str]


def _shape(kind: str, begins: str, whole: str, more: str = r"(?:[^\w\-{].*)?") -> Shape:
    """more: what may stand behind it; a number or a name that goes on is another one."""
    return Shape(kind, begins, re.compile(f"(?:{whole}){more}", re.ASCII))


SHAPES = (
    _shape(
        "version",
        r"[NR]CCL version",
        r"(?P<library>[NR])CCL version(?: :)? (?P<version>\d+\.\d+\.\d+[\w.-]*)",
        r"(?:[+: ].*)?",
    ),
    _shape("network", r"Using network", r"Using network (?P<name>\S.*?)", ""),
    _shape(
        "member",
        r"(?:\[Rank \d+\] )?(?:ncclComm\w+ )?comm 0x\S* rank \d+ nranks",
        rf"(?:\[Rank \d+\] )?(?:ncclComm\w+ )?{_COMM} nranks (?P<nranks>{_N}) cudaDev \d+(?: nvmlDev \d+)? busId [^\s:]+{_ID}"
        r" ?- (?P<what>[A-Z]\w+ (?:START|COMPLETE))",
    ),
    _shape(
        "nodes",
        r"comm 0x\S* rank \d+ nRanks \d+ nNodes",
        rf"{_COMM} nRanks (?P<nranks>{_N}) nNodes (?P<nodes>{_N}) localRanks (?P<locals>{_N}) localRank (?P<local>{_N})",
    ),
    _shape(
        "ring",
        r"Channel \d+/\d+ :\s+\d+(?!\[|\d)",
        rf"Channel (?P<channel>{_TWO})/(?P<channels>{_TWO}) :(?P<ranks>(?: +{_N})+)(?P<cut> ?\d*\.\.\.)? *",
        r"(?: comm 0x.*)?",
    ),
    _shape(
        "trees",
        r"Trees \[",
        rf"Trees(?P<trees>(?: \[{_N}\] (?:{_SIGNED}/){{2}}{_SIGNED}->{_N}->{_SIGNED})+)(?P<rest>.*)",
        "",
    ),
    _shape(
        "connection",
        r"Channel \d+(?:/\d+)? ?: ?\d+\[",
        rf"Channel (?P<channel>{_TWO})(?:/\d)? : {_ENDS} (?:{_NET}|{_LOCAL})",
    ),
    _shape(
        "chosen",
        r"(?:\w+: )?-?\d+ Bytes -> Algo",
        rf"(?:(?P<collective>\w+): )?(?P<nbytes>{_BYTES}) Bytes -> Algo (?:{NUMBERED}|{NAMED})",
    ),
    _shape(
        "nvls",
        r"NVLS multicast support",
        rf"NVLS multicast support is (?P<no>not )?available on dev (?P<device>{_N})",
    ),
    _shape(
        "nvls comm",
        r"NVLS comm",
        r"NVLS comm (?P<comm>0x[0-9a-f]+) headRank -?\d+ nHeads \d+(?: nvlsRanks \d+)? buffSize \d+(?: memSize \d+)?"
        rf" nvlsPerRankSize (?P<each>{_BYTES}) nvlsTotalSize (?P<total>{_BYTES})",
    ),
    _shape("chunk", r"P2P Chunksize", rf"P2P Chunksize set to (?P<bytes>{_BYTES})"),
    _shape(
        "set",
        rf"{NAME} set (?:by environment )?to",
        rf"(?P<name>{NAME}) set (?:by environment )?to (?P<value>\S.*?)",
        "",
    ),
    _shape(
        "plugin",
        r"\w+/Plugin ?: (?:Loaded|Using) ",
        r"(?P<kind>\w+)/Plugin ?: (?:Loaded|Using)\b(?: \w+ plugin)? ?(?P<name>\S.*?)",
        "",
    ),
    _shape(
        "timings",
        r"Init timings\b",
        rf"Init timings(?: - \w+)?: rank (?P<rank>{_N}) nranks (?P<nranks>{_N}) total (?P<total>{_SECONDS})"
        rf" \((?P<parts>[a-z]+ {_SECONDS}(?:, [a-z]+ {_SECONDS})*)\)",
    ),
    _shape(
        "gdr",
        r"NET/\w+ : GPU Direct RDMA ",
        rf"NET/\w+ : GPU Direct RDMA (?P<state>Enabled|Disabled) for HCA {_N} '(?P<card>[^']*)'",
    ),
    _shape("provider", r"NET/OFI Selected \w+ is ", r"NET/OFI Selected \w+ is (?P<name>[\w;-]+)"),
    _shape("invalid", r"Invalid value ", rf"Invalid value (?P<value>.+) for (?P<name>{NAME}), using default -?\d+\.?"),
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
