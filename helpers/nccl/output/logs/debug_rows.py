"""What the lines of NCCL_DEBUG=INFO say, one type a kind of line; `line` counts from 1. Chapters: inside-nccl, choosing."""

from __future__ import annotations

from typing import NamedTuple


class Origin(NamedTuple):
    """Who wrote the line. None for what the text does not have, or has blacked out; then `front` is what stands in its place.

    In a text that has only what follows "NCCL INFO", all of it is None and "".
    """

    host: str | None = None
    pid: int | None = None
    thread: int | None = None
    device: int | None = None
    front: str = ""


class CommRank(NamedTuple):
    """One rank of one communicator. comm: its address in that process; comm_id: the same on all ranks, told from 2.17 on.

    complete: "Init COMPLETE" was seen. nodes, local_ranks, local_rank: told from 2.19 on.
    """

    line: int
    origin: Origin
    comm: str
    rank: int
    nranks: int
    comm_id: str | None = None
    nodes: int | None = None
    local_ranks: int | None = None
    local_rank: int | None = None
    complete: bool = False


class RingLine(NamedTuple):
    """The ring of a channel, from rank 0 on. whole: False where NCCL itself has cut the line, at 20 ranks or 127 characters."""

    line: int
    comm: str | None
    channel: int
    channels: int
    ranks: tuple[int, ...]
    whole: bool = True


class TreeLine(NamedTuple):
    """One rank's place in the tree of a channel. parent: None at the root."""

    line: int
    comm: str | None
    channel: int
    rank: int
    children: tuple[int, ...]
    parent: int | None


class Connection(NamedTuple):
    """A way from rank to rank in a channel. transport: "P2P", "SHM", "NET"; how: "IPC/read", "direct/direct", "".

    Over a network: its name, the card (`nic`), which end has told it ("send", "receive"; NCCL tells each way at both ends), the
    rank whose card is taken (PXN), None where it is the sender's own, and whether the card reads the GPU's memory itself (`gdrdma`;
    None where the line has a word in that place that no version known here writes).
    """

    line: int
    comm: str | None
    channel: int
    src: int
    dst: int
    transport: str
    how: str = ""
    network: str | None = None
    nic: int | None = None
    end: str | None = None
    proxy: int | None = None
    gdrdma: bool | None = None


class Chosen(NamedTuple):
    """What NCCL took for one call, as rank 0 tells it (subsystem TUNING). collective: not told before 2.23.

    channels: first and last, told from 2.24 on. microseconds: what the cost model expects, told from 2.20 to 2.23.
    nbytes: as NCCL prints it, which of AllGather and ReduceScatter is one rank's share from 2.24 on; see `buffer`.
    """

    line: int
    collective: str | None
    nbytes: int
    algorithm: str
    protocol: str
    channels: tuple[int, int] | None = None
    microseconds: float | None = None

    def buffer(self, nranks: int) -> int:
        """Bytes of the larger of a rank's two buffers, the size that nccl-tests and `predict` go by, whatever version has told it.

        Up to 2.23 NCCL prints the size that its cost model saw, which is this one; since then count times size of type (src/enqueue.cc).
        """
        share = self.channels is not None and self.collective in ("AllGather", "ReduceScatter")
        return self.nbytes * nranks if share else self.nbytes


class Setting(NamedTuple):
    """A variable that NCCL has read. ignored: in NCCL's own words why it did not count, "" where it took effect."""

    line: int
    name: str
    value: str
    ignored: str = ""


class Nvls(NamedTuple):
    """NVLink SHARP: available on a device or not; with `comm`, that a communicator has made its buffers (bytes per rank and in all)."""

    line: int
    device: int | None
    available: bool
    comm: str | None = None
    per_rank: int | None = None
    total: int | None = None


class Timings(NamedTuple):
    """What one rank spent on making a communicator, in seconds: in all, and by part (told from 2.22 on). NCCL's words name the parts.

    The bootstrap's has what this rank waited there for others.
    """

    line: int
    rank: int
    nranks: int
    total: float
    parts: tuple[tuple[str, float], ...]


class Damaged(NamedTuple):
    """A line of a known kind that does not hold together: nothing of it counts."""

    line: int
    text: str
    why: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}: {self.text[:160]!r}"
