"""One training step in seven stages, and the peak between them: python scripts/training-memory.py [--batch 32] [--seq 128]

On a GPU by the CUDA allocator's counters; without one by the CPU allocator's events, which torch's profiler writes into its trace.
"""

import argparse
import json
import tempfile
from pathlib import Path

import torch
from torch.nn import TransformerEncoder, TransformerEncoderLayer
from torch.profiler import ProfilerActivity, profile, record_function


def step(device, layers, width, batch, seq):
    """The names of the stages, each after its part of the step. Batch, output and loss live until the end."""
    yield "empty"
    model = TransformerEncoder(TransformerEncoderLayer(width, 8, 4 * width, batch_first=True, device=device), layers)
    optimizer = torch.optim.Adam(model.parameters())
    yield "model"
    x = torch.rand(batch, seq, width, device=device)
    yield "input"
    output = model(x)  # alive until the end, as in a training loop
    loss = output.square().mean()
    yield "after forward"
    loss.backward()
    yield "after backward"
    optimizer.step()
    yield "after step"
    optimizer.zero_grad(set_to_none=True)
    yield "after zero_grad"


def measured(args):
    """[(stage, bytes)]. On CPU every allocation is an event with its bytes; a free has negative ones."""
    if torch.cuda.is_available():
        stages = [(name, torch.cuda.memory_allocated()) for name in step("cuda", **vars(args))]
        return [*stages, ("the peak", torch.cuda.max_memory_allocated())]
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
        for name in step("cpu", **vars(args)):
            record_function(f"stage: {name}").__enter__().__exit__(None, None, None)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        watched.export_chrome_trace(file.name)
        events = json.loads(Path(file.name).read_text())["traceEvents"]
    stages, alive, peak = [], 0, 0
    for event in sorted(events, key=lambda event: event.get("ts", 0)):
        if event["name"] == "[memory]":
            alive += event["args"]["Bytes"]
            peak = max(peak, alive)
        if event["name"].startswith("stage: ") and event.get("cat") == "user_annotation":
            stages.append((event["name"].removeprefix("stage: "), alive))
    return [*stages, ("the peak", peak)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, default in (("layers", 6), ("width", 512), ("batch", 32), ("seq", 128)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    if min(vars(args).values()) < 1 or args.width % 8:
        parser.error(f"all are positive, and --width is a multiple of the 8 heads; got {vars(args)}")
    stages = measured(args)
    parameters = dict(stages)["model"]
    for name, nbytes in stages:
        print(f"{name:<16}{nbytes / 2**20:10.2f} MiB {nbytes / parameters:8.2f} x the parameters")


if __name__ == "__main__":
    main()
