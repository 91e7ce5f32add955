"""Ring attention: blocks of keys and values go round, each rank keeps its queries; causal, in zigzag, held against one process.

torchrun --nproc-per-node 4 scripts/context.py
"""

import os

import torch
import torch.distributed as dist
import torch.nn.functional as F

HEADS, SEQ, D = 4, 64, 16


def positions(rank, nranks):
    chunks = torch.arange(SEQ).chunk(2 * nranks)
    return torch.cat([chunks[rank], chunks[-1 - rank]])  # one early, one late: all ranks compute equally much


def part(q, k, v, seen):
    """Attention to these keys alone, and the logarithm of each row's sum of exponentials; rows without a key have -inf."""
    scores = (q @ k.mT / D**0.5).masked_fill(~seen, float("-inf"))
    lse = scores.logsumexp(-1, keepdim=True)
    return (scores - lse.clamp(min=-1e300)).exp() @ v, lse


def merge(one, other):
    lse = torch.logaddexp(one[1], other[1])
    return one[0] * (one[1] - lse).exp() + other[0] * (other[1] - lse).exp(), lse


def pass_on(block, rank, nranks):
    room = torch.empty_like(block)
    ops = [dist.P2POp(dist.isend, block, (rank + 1) % nranks), dist.P2POp(dist.irecv, room, (rank - 1) % nranks)]
    return dist.batch_isend_irecv(ops), room


def ring(q, k, v, rank, nranks):
    block, mine, found, scores, sent = torch.stack((k, v)), positions(rank, nranks), None, 0, 0
    for step in range(nranks):
        works, room = pass_on(block, rank, nranks) if step < nranks - 1 else ([], block)
        seen = (mine[:, None] >= positions((rank - step) % nranks, nranks)).to(q.device)
        here = part(q, *block, seen)
        found = merge(found, here) if found else here
        scores += int(seen.sum())
        for work in works:  # the next block came while this one was computed with
            work.wait()
        sent += block.nbytes if works else 0
        block = room
    return found[0], scores, sent


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
    device = set_up()
    rank, nranks = dist.get_rank(), dist.get_world_size()
    if SEQ % (2 * nranks):
        raise SystemExit(f"{SEQ} tokens are no multiple of 2 x {nranks} chunks: take 1, 2, 4, 8, 16 or 32 ranks")
    torch.manual_seed(0)
    whole = [torch.randn(HEADS, SEQ, D, dtype=torch.float64).to(device) for _ in range(3)]
    mine = positions(rank, nranks).to(device)
    out, scores, sent = ring(*(x[:, mine].contiguous() for x in whole), rank, nranks)
    far = (out - F.scaled_dot_product_attention(*whole, is_causal=True)[:, mine]).abs().max().item()
    print(f"rank {rank} of {nranks}: {scores} scores a head, {sent} B sent, off by {far:.0e}\n", end="")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
