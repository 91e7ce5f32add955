"""What the CUDA caching allocator makes of a few tensors: python scripts/allocator.py [--mib 6 3 -6 4 1.5]

Each number makes a tensor of so many MiB, a negative one frees the oldest tensor of that size. On a GPU it prints what torch counts and
where the blocks stand; on a CPU, where there is no such allocator, what the rounding rules say of each request.
"""

import argparse

import torch

MIB = 2**20


def rounded(nbytes):
    """(block, segment) of a request that no free block fits: c10/core/AllocatorConfig.h of torch 2.13."""
    size = max(512, -(-nbytes // 512) * 512)
    if size <= MIB:
        return size, 2 * MIB
    return size, 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB


def segments():
    """Every segment as a line: its size, and its blocks, free ones in brackets."""
    for segment in torch.cuda.memory_snapshot():
        blocks = [(block["size"] / MIB, block["state"] == "inactive") for block in segment["blocks"]]
        told = " ".join(f"({size:.4g})" if free else f"{size:.4g}" for size, free in blocks)
        yield f"  {segment['segment_type']} segment of {segment['total_size'] / MIB:g} MiB: {told}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--mib", type=float, nargs="+", default=[6, 3, -6, 4, 1.5, 30], help="sizes; negative ones free"
    )
    args, alive = parser.parse_args(), []
    cuda = torch.cuda.is_available()
    for size in args.mib:
        nbytes = round(abs(size) * MIB)
        same = [tensor for tensor in alive if tensor.numel() == nbytes]
        if size < 0 and not same:
            parser.error(f"there is no tensor of {-size:g} MiB to free")
        if size < 0:
            alive = [tensor for tensor in alive if tensor is not same[0]]
            del same
        else:
            alive.append(torch.empty(nbytes, dtype=torch.uint8, device="cuda" if cuda else "cpu"))
        if cuda:
            now = torch.cuda.memory_allocated() / MIB, torch.cuda.memory_reserved() / MIB
            print(f"{size:+g} MiB: {now[0]:g} MiB allocated, {now[1]:g} MiB reserved", *segments(), sep="\n")
        elif size > 0:
            block, segment = (n / MIB for n in rounded(nbytes))
            print(f"{size:+g} MiB: a block of {block:g} MiB; if no free block fits, a segment of {segment:g} MiB")
        else:
            print(f"{size:+g} MiB: the block is free, its segment stays reserved")


if __name__ == "__main__":
    main()
