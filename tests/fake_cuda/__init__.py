"""A machine with 0, 1, 2 or 8 GPUs, played on the CPU: enough of torch.cuda, NCCL and pynvml to run every line of Python that needs one.

    environment(gpus=2, folder=tmp_path)      # for a fresh process: its children, fork server and ranks have the GPUs, too

It comes in by the environment: Python imports `sitecustomize` from hook/ when it starts, which waits for torch and pynvml
to be imported and changes them then. Nothing in helpers/ or tools/ knows of it.

Played: tensors that lie in CPU memory and say cuda:0, with torch's error when devices are mixed; streams whose work comes later and
events that tell when; graphs that hold what was captured on their own GPU; bytes asked for, in blocks, and at the highest moment;
snapshots; NCCL over Gloo: calls return at once, a collective that nobody joins is never over, a rank's death is heard by nobody; NVML
with the processes that hold memory.

What it cannot tell, and only a GPU can:
- Times. Every figure of a check is the CPU's own. Kernels run at once, when they are called; only collectives, sleeps and events wait
  for their stream, and the next operator on the GPU waits for them on the host.
- NCCL: whether it starts, its log (this one's lines have the right form, and what is set always takes effect), its channels, buffers,
  algorithms, aborts, its refusal of two ranks on one GPU, wrong sizes (Gloo ends the process, NCCL waits), errors of its watchdog.
- CUDA: its contexts and their memory, locks, sticky errors, which kernel runs, what a kernel takes beside its tensors (nothing here).
- The allocator: it is our own model of torch's, with its limits and retries, so a comparison with the model proves the reading only.
- What torch makes below Python: DDP's buckets (made in C++ on the CPU, and mixed with gradients that say cuda), FSDP2's shards, modules of
  DTensors, the zeros in the backward of an index. Of `helpers.parallel` it carries the parameter server, the loops of all_reduces, buckets,
  ZeRO, tensor parallel of the MLP, norms, pipelines (torch's too), rings of context and DTensor's layouts.
- When a call was made: what finds its stream behind is counted when a thread carries it on, so `counted` may miss it, or take it later.
- The driver: MIG, containers, permissions; tests/ranks/test_gpus.py plays what NVML says of those.
"""

from .machine import environment

__all__ = ["environment"]
