"""The peak memory of a training step that does not fit, counted without a byte: python scripts/too-big.py [--layers 32 --hidden 4096 ...]

An encoder's blocks on the meta device, where a tensor has a shape and no values; a storage counts from its birth to its death.
"""

import argparse
import weakref

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

GIB = 2**30


class Count(TorchDispatchMode):
    """Bytes alive, and the most that ever were, in blocks of 512 as the CUDA allocator rounds."""

    def __init__(self):
        super().__init__()
        self.alive, self.peak, self.known = 0, 0, weakref.WeakValueDictionary()

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        out = operator(*args, **(kwargs or {}))
        for tensor in (leaf for leaf in tree_leaves(out) if torch.is_tensor(leaf) and leaf.is_meta):
            self.see(tensor.untyped_storage())
        return out

    def see(self, storage):
        if self.known.get(id(storage)) is not storage:
            self.known[id(storage)] = storage
            nbytes = -(-storage.nbytes() // 512) * 512
            self.change(nbytes)
            weakref.finalize(storage, self.change, -nbytes)

    def change(self, nbytes):
        self.alive += nbytes
        self.peak = max(self.peak, self.alive)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    sizes = {"layers": 32, "hidden": 4096, "heads": 32, "ffn": 11008, "tokens": 512, "steps": 2}
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    with Count() as count:
        with torch.device("meta"):
            layers = [nn.TransformerEncoderLayer(args.hidden, args.heads, args.ffn, 0.0) for _ in range(args.layers)]
            model = nn.Sequential(*layers)
            x = torch.empty(args.tokens, 1, args.hidden)
        del layers
        adam = torch.optim.AdamW(model.parameters(), foreach=False)
        for step in range(1, args.steps + 1):
            count.peak = count.alive
            model(x).sum().backward()
            adam.step()
            adam.zero_grad()
            print(f"step {step}: peak {count.peak / GIB:.2f} GiB, {count.alive / GIB:.2f} GiB stay")


if __name__ == "__main__":
    main()
