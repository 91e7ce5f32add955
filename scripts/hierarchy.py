"""All-reduce in two levels with torch's own groups: inside a node, across nodes, inside again. One file, run anywhere torch is:

    torchrun --nproc-per-node 4 scripts/hierarchy.py --gpus 2    # one machine that plays two nodes of two
    torchrun --nnodes 2 --nproc-per-node 8 ... scripts/hierarchy.py    # two real ones

Every rank sums a buffer in three calls, and the result is compared with dist.all_reduce, bit by bit.
"""

import argparse
import os
import time

import torch
import torch.distributed as dist

# torch 2.13 calls these two ..._single and warns about their old names, the only ones that 2.12 knows.
reduce_scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
all_gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor


def two_level_all_reduce(buffer, inside, rail):
    """Sums buffer over all ranks. inside: the group of my node; rail: the group of those in my place in their nodes."""
    gpus = dist.get_world_size(inside)
    padded = torch.nn.functional.pad(buffer, (0, -buffer.numel() % gpus))  # every GPU of the node owns an equal share
    share = torch.empty_like(padded[: padded.numel() // gpus])
    reduce_scatter(share, padded, group=inside)  # 1/gpus of the buffer, summed over the node
    dist.all_reduce(share, group=rail)  # only this crosses the NIC, and every GPU has its own
    all_gather(padded, share, group=inside)
    return padded[: buffer.numel()]


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", type=int, default=int(os.environ["LOCAL_WORLD_SIZE"]), help="ranks in a node")
    gpus = parser.parse_args().gpus
    device = set_up()
    nranks = dist.get_world_size()
    if gpus < 1 or nranks % gpus:
        raise SystemExit(f"nodes are alike: {nranks} ranks do not divide into nodes of {gpus}")
    mesh = dist.init_device_mesh(device.type, (nranks // gpus, gpus), mesh_dim_names=("across", "inside"))
    inside, rail = mesh.get_group("inside"), mesh.get_group("across")
    for numel in (1, 10, 1_000_003, 2**22):
        buffer = (torch.arange(numel, device=device) % 1000 + dist.get_rank()).float()  # whole numbers: sums are exact
        expected = buffer.clone()
        dist.all_reduce(expected)
        dist.barrier()
        start = time.perf_counter()
        result = two_level_all_reduce(buffer, inside, rail)
        if device.type == "cuda":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        assert torch.equal(result, expected), f"rank {dist.get_rank()}: two levels differ at {numel} elements"
        if dist.get_rank() == 0:
            print(f"{nranks // gpus} x {gpus}, {buffer.nbytes:>9} B  equal bit by bit  {seconds * 1e3:8.2f} ms")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
