"""Where did a step's milliseconds go? Trains a little under torch's profiler, and each rank shares out its time from its own trace.

torchrun --nproc-per-node 4 scripts/reading-a-trace.py traces 20    # where the traces go, milliseconds until a batch is made
"""

import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.profiler import profile, record_function

WIDTH, SAMPLES, STEPS = 512, 32, 3


class Slow(torch.utils.data.IterableDataset):
    def __iter__(self):
        while True:
            time.sleep(float(sys.argv[2]) / 1e3 / SAMPLES)
            yield torch.randn(WIDTH)


def length(spans, total=0, behind=0):
    """Of the times in which at least one of them runs."""
    for start, end in sorted(spans):
        total += max(0, end - max(start, behind))
        behind = max(behind, end)
    return total


def shared_out(events):
    """Nanoseconds in all, of computation, of communication beside none, of nothing, and of nothing while a batch is made."""
    rows = [(e["name"], e["cat"], round(e["ts"] * 1e3), round((e["ts"] + e["dur"]) * 1e3)) for e in events]
    steps = [(start, end) for name, cat, start, end in rows if name.startswith("ProfilerStep") and "gpu" not in cat]
    window = min(start for start, _ in steps), max(end for _, end in steps)
    spans = [(name, cat, max(start, window[0]), min(end, window[1])) for name, cat, start, end in rows]
    gpu = any(cat == "kernel" for _, cat, *_ in spans)  # else operators and Gloo's calls take the CPU's time
    loads = [span for name, _, *span in spans if name.startswith("enumerate(DataLoader)")]
    works = [span for name, cat, *span in spans if (cat == "kernel" if gpu else name.startswith(("aten::", "gloo:")))]
    talks = [span for name, cat, *span in spans if name.startswith("nccl" if gpu else "gloo:") and span in works]
    makes = [span for span in works if not gpu and any(start <= span[0] < end for start, end in loads)]
    works = [span for span in works if span not in makes]
    computes, busy = length([span for span in works if span not in talks]), length(works)
    return window[1] - window[0], computes, busy - computes, window[1] - window[0] - busy, length(works + loads) - busy


def set_up(**options):
    """Joins the group, with more options if there are any; the device of this rank: a GPU of its own, or the CPU for all."""
    local = int(os.environ["LOCAL_RANK"])
    on_gpus = torch.cuda.is_available() and torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    device = torch.device("cuda", local) if on_gpus else torch.device("cpu")
    if on_gpus:
        torch.cuda.set_device(device)  # before the group: NCCL takes one GPU per rank
        options["device_id"] = device  # a wrong address shows now, not at the first collective
    dist.init_process_group("nccl" if on_gpus else "gloo", **options)
    return device


if __name__ == "__main__":
    device = set_up()
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(8)]).to(device)
    batches = iter(torch.utils.data.DataLoader(Slow(), batch_size=SAMPLES))
    with profile() as seen:
        dist.barrier()  # a profiler starts sooner on one rank than on another
        for step in range(STEPS):
            with record_function(f"ProfilerStep#{step}"):
                model(next(batches).to(device)).square().mean().backward()
                for p in model.parameters():
                    dist.all_reduce(p.grad)
    path = Path(sys.argv[1], f"{dist.get_rank()}.json")
    path.parent.mkdir(exist_ok=True)
    seen.export_chrome_trace(str(path))
    found = shared_out([e for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "X"])
    said = "{:.6f} ms = {:.6f} computes + {:.6f} exposed + {:.6f} idle, {:.6f} of it while a batch is made\n"
    print(f"rank {dist.get_rank()}: " + said.format(*(ns / 1e6 for ns in found)), end="")  # in one write
    dist.destroy_process_group()
