"""How many blocks NCCL's kernels take whose buffers it knows beforehand, inside one node. Chapter: who-moves.

Source: NCCL 2.30.7, ncclNvlsRegResourcesQuery in src/transport/nvls.cc, queryModel_lsa and ncclSymkInitOnce in src/sym_kernels.cc.
"""

from __future__ import annotations

# Hopper, Blackwell: blocks times GPUs, "factor" there
NVLS_SHARES = {"all_gather": (32, 32), "reduce_scatter": (40, 48), "all_reduce": (32, 64)}
SYMMETRIC_SHARES = (16, 32)  # the same of the kernels that let the switch copy or add


def registered_blocks(collective: str, nranks: int, blackwell: bool = False) -> int:
    """Blocks of NVLS, which does not average floats, where all ranks registered their buffers: of an all_reduce by that alone, of
    the other two under NCCL_CTA_POLICY=EFFICIENCY, without a tuner plugin, NCCL_ALGO, NCCL_PROTO and NVLink between nodes
    (src/enqueue.cc:2155).

    ValueError for another collective, or fewer than 2 ranks.
    """
    if collective not in NVLS_SHARES:
        raise ValueError(f"NVLS on registered buffers is for {', '.join(NVLS_SHARES)}, got {collective!r}")
    return _shared(NVLS_SHARES[collective][blackwell], nranks, least=2)


def symmetric_blocks(nranks: int, blackwell: bool = False) -> int:
    """The most blocks that a kernel takes which lets an NVSwitch copy (all_gather) or add (reduce_scatter), the buffers of all ranks
    in symmetric windows. A short message may take fewer, an average of floats has no such kernel.

    ValueError for fewer than 3 ranks: between two NCCL does not use the switch so.
    """
    return _shared(SYMMETRIC_SHARES[blackwell], nranks, least=3)


def _shared(blocks: int, nranks: int, least: int) -> int:
    if nranks < least:
        raise ValueError(f"expected {least} ranks or more, got {nranks}")
    return -(-blocks // nranks)
