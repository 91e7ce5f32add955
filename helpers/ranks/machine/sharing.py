"""Several ranks on one GPU: right results, meaningless times. Chapters: ranks, hangs.

NCCL refuses two ranks on one GPU unless it takes them for ranks of different machines, or is allowed to (nccl/src/init.cc, where
peers are compared by hostHash and by GPU):

- before 2.30: NCCL_HOSTID stands in for the host's name in that hash (src/misc/utils.cc, getHostHash), so a different one per
  rank makes every rank a machine of its own. Then only a network joins them: NCCL_NET=Socket, over loopback, and neither
  peer-to-peer nor shared memory, nor NVLink between machines (MNNVL), may be tried.
- from 2.30: NCCL_MULTI_RANK_GPU_ENABLE=1 (user guide, "Environment Variables"; experimental). NVLink SHARP is off then.

The ranks' kernels take turns on the GPU, so few channels (NCCL_MAX_CTAS, since 2.17) are enough.
"""

from __future__ import annotations

import torch

ALLOWED_FROM = (2, 30)  # the first NCCL that can be allowed to share a GPU
FEW = "2"  # channels


def nccl_version() -> tuple[int, ...] | None:
    """Of the library that torch has loaded, such as (2, 29, 7); None for a torch without NCCL. Does not start CUDA."""
    return tuple(torch.cuda.nccl.version()[:3]) if torch.version.cuda else None


def settings(rank: int, version: tuple[int, ...] | None) -> dict[str, str]:
    """The environment of one rank among several on its GPU."""
    if version and version >= ALLOWED_FROM:
        return {"NCCL_MULTI_RANK_GPU_ENABLE": "1", "NCCL_NVLS_ENABLE": "0", "NCCL_MAX_CTAS": FEW}
    return {
        "NCCL_HOSTID": f"rank-{rank}",
        "NCCL_NET": "Socket",
        "NCCL_P2P_DISABLE": "1",
        "NCCL_SHM_DISABLE": "1",
        "NCCL_MNNVL_ENABLE": "0",
        "NCCL_MAX_CTAS": FEW,
    }
