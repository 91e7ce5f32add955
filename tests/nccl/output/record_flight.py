"""Records the flight recorder of four Gloo ranks of our own pool, of which rank 3 leaves a collective out, into logs/gloo-skip*.json.

    PYTHONPATH=. .venv/bin/python tests/nccl/output/record_flight.py

Every rank dumps while ranks 0 to 2 wait; then rank 3 comes too, so that the call ends well. gloo-skip-pickles.json holds the bytes as
torch wrote them, in base64, without stacks; gloo-skip.json the same dumps with stacks, of each file only its last name.
"""

import base64
import json
from pathlib import Path

REAL = Path(__file__).parent / "logs"


def skip() -> tuple[bytes, bytes]:
    """On a rank: three collectives and a message, and then the collective that rank 3 reaches too late."""
    import threading
    import time

    import torch
    import torch.distributed as dist
    from torch._C._distributed_c10d import _dump_fr_trace

    kept, rank, x = [], dist.get_rank(), torch.ones(4)
    dist.all_reduce(x)
    dist.broadcast(x, 0)
    if rank < 2:
        (dist.send if rank == 0 else dist.recv)(x, 1 - rank)
    dist.barrier()
    with_stacks, without = {"includeStackTraces": True}, {"includeStackTraces": False}
    taker = threading.Timer(2.0, lambda: kept.extend(_dump_fr_trace(**how) for how in (without, with_stacks)))
    taker.start()
    if rank == 3:
        time.sleep(4)
    dist.all_reduce(x)
    taker.join()
    return kept[0], kept[1]


def shortened(dump: object) -> object:
    """The last name of every file: the folders are one machine's."""
    for entry in dump["entries"]:
        for frame in entry["frames"]:
            frame["filename"] = frame["filename"].rpartition("/")[2]
        entry["frames"] = [frame for frame in entry["frames"] if frame["filename"] == Path(__file__).name]
    return dump


def main() -> None:
    from helpers.plain_pickle import load_plain
    from helpers.ranks import Ranks

    with Ranks(4) as ranks:
        dumps = ranks.run(skip)
    exact = [base64.b64encode(plain).decode() for plain, _ in dumps]
    (REAL / "gloo-skip-pickles.json").write_text(json.dumps(exact, indent=1) + "\n")
    stacks = [shortened(load_plain(stacked)) for _, stacked in dumps]
    (REAL / "gloo-skip.json").write_text(json.dumps(stacks, indent=1) + "\n")


if __name__ == "__main__":
    main()
