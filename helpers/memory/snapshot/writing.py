"""The model's own state in the format of a PyTorch snapshot, the one that pytorch.org/memory_viz opens. Chapter: allocator."""

from __future__ import annotations

from typing import Any

from helpers.memory.allocator import Action, Replay, Segment

BASE = 0x7F00_0000_0000  # where the first segment stands; a driver's addresses look like this


def snapshot_of(replay: Replay, index: int = -1, device: int = 0) -> dict[str, Any]:
    """What torch.cuda.memory._snapshot() would return after event `index`, if the model is right. Plain data: ready for pickle.

    Times are the trace's, in whole microseconds; there are no stack frames but one that names the operator.
    """
    segments = [segment_data(segment, device) for segment in replay.segments(index)]
    last = range(len(replay))[index]
    entries = [entry for action in replay.actions if action.event <= last for entry in _entries(action, replay)]
    return {"segments": segments, "device_traces": [[] for _ in range(device)] + [entries]}


def segment_data(segment: Segment, device: int) -> dict[str, Any]:
    """A segment as torch writes it."""
    blocks = [
        {
            "address": BASE + b.address,
            "size": b.size,
            "requested_size": b.requested,
            "state": b.state,
            "frames": [],
        }
        for b in segment.blocks
    ]
    return {
        "device": device,
        "address": BASE + segment.address,
        "total_size": segment.size,
        "allocated_size": segment.allocated,
        "active_size": segment.allocated,
        "requested_size": sum(b.requested for b in segment.blocks),
        "stream": 0,
        "segment_type": segment.pool,
        "segment_pool_id": (0, 0),
        "is_expandable": segment.expandable,
        "frames": [],
        "blocks": blocks,
    }


def _entries(action: Action, replay: Replay) -> list[dict[str, Any]]:
    """The history's entries of one action: torch notes a free twice, when it is asked for and when it is done."""
    event = replay.trace.events[action.event]
    size = action.requested if action.action in ("alloc", "free_completed") else action.size
    frames = [{"filename": "model.py", "line": 0, "name": event.op}] if event.op else []
    entry = {
        "action": action.action,
        "size": size,
        "stream": 0,
        "time_us": round(event.seconds * 1e6),
        "frames": frames,
    }
    where = (
        {"device_free": replay.oom.free} if replay.oom and action.action == "oom" else {"addr": BASE + action.address}
    )
    entry |= where
    return [{**entry, "action": "free_requested"}, entry] if action.action == "free_completed" else [entry]
