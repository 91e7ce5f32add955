"""A small transformer sharded by torch's FSDP2, and the bytes of its states on each rank beside those of one process.

torchrun --nproc-per-node 4 scripts/sharded.py
"""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

WIDTH, VOCAB = 64, 256


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, WIDTH)
        blocks = (nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, batch_first=True) for _ in range(4))
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, x):
        x = self.tokens(x)
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], x.device, x.dtype)
        for block in self.blocks:
            x = block(x, mask, is_causal=True)
        return self.head(x)


def shard(model, device):
    """Each block is a unit, gathered and dropped by itself; the root keeps what is left until backward."""
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for module in [*model.blocks, model]:  # the root last
        fully_shard(module, mesh=mesh, mp_policy=policy)


def nbytes(tensors):
    """Bytes on this rank: of a DTensor its own shard."""
    return sum(t.to_local().nbytes if hasattr(t, "to_local") else t.nbytes for t in tensors)


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
    torch.manual_seed(0)
    model = Model().to(device)
    whole = 4 * nbytes(model.parameters())  # and gradients, and AdamW's two moments
    shard(model, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x = torch.randint(VOCAB, (4, 16), generator=torch.Generator().manual_seed(dist.get_rank())).to(device)
    for step in range(3):
        loss = nn.functional.cross_entropy(model(x[:, :-1]).flatten(0, 1).float(), x[:, 1:].flatten())
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0).full_tensor()  # of all ranks' shards
        optimizer.step()
        held = [t for state in optimizer.state.values() for t in state.values() if t.dim()]  # moments, not step counts
        held += [t for p in model.parameters() for t in (p, p.grad)]
        print(f"{dist.get_rank()} step {step}: loss {loss:.3f} norm {norm:.3f} {nbytes(held)} of {whole} B\n", end="")
        optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
