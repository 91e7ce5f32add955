"""The verdict on a memory snapshot of PyTorch: what is largest, and how much is reserved and free. Chapter: yours."""

from __future__ import annotations

from helpers.memory.snapshot import Snapshot
from helpers.units import MIB, nbytes_text
from helpers.yours.causes import cause
from helpers.yours.verdict import Verdict

LOOSE = 0.2  # of what is reserved, free: from here on it is said
LEAST = 64 * MIB  # free bytes that are worth a word


def of_snapshot(found: Snapshot) -> Verdict:
    """Of the device with the most reserved."""
    by_device = {one: found.segments(one) for one in sorted({segment.get("device", 0) for segment in found.segments_})}
    if not by_device:
        return Verdict("snapshot", "a memory snapshot of PyTorch", "It holds no segment: nothing was reserved.")
    device = max(by_device, key=lambda one: (sum(s.size for s in by_device[one]), -one))
    segments = by_device[device]
    reserved, taken = sum(s.size for s in segments), sum(s.allocated for s in segments)
    blocks = [block for segment in segments for block in segment.blocks]
    live = [block.requested for block in blocks if block.state != "inactive"]
    holes = [block.size for block in blocks if block.state == "inactive"]
    what = f"a memory snapshot of PyTorch, GPU {device}: {len(segments)} segments, {len(live)} live blocks"
    sentence = f"{nbytes_text(reserved)} reserved, {nbytes_text(taken)} of it in use"
    sentence += f"; the largest live block holds {nbytes_text(max(live))}" if live else ""
    sentence += f"; the largest free piece has {nbytes_text(max(holes))}." if holes else "; no free piece."
    causes = []
    if holes and reserved - taken >= max(LEAST, LOOSE * reserved):
        why = (
            f"{nbytes_text(reserved - taken)} of {nbytes_text(reserved)} are reserved and free, in {len(holes)} pieces;"
            f" a tensor larger than {nbytes_text(max(holes))} fits into none of them"
        )
        causes.append(cause("fragmentation", why))
    return Verdict("snapshot", what, sentence, causes=tuple(causes))
