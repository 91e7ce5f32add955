"""Whether NCCL leaves a collective to the copy engines or to a kernel. Chapter: who-moves.

Source: NCCL 2.30.7, taskAppend in src/enqueue.cc, ncclCeImplemented, ncclCeAvailable and ncclHierCeAvailable in src/ce_coll.cc.
Taken as given: CUDA 12.5 or newer, symmetric memory supported, and between nodes a proxy that may put.
"""

from __future__ import annotations

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "gather", "scatter")
POLICIES = ("DEFAULT", "EFFICIENCY", "ZERO")  # of NCCL_CTA_POLICY; a CTA is a thread block
COPIED = ("all_gather", "all_to_all", "scatter", "gather")  # those that only copy
COPIED_ACROSS = ("all_gather", "all_to_all")
LONG = 8 * 1024 * 1024  # NCCL_SYM_CE_THRESHOLD: elements that one rank gives, whatever their type


def who_moves(
    collective: str,
    policy: str = "DEFAULT",
    send_window: bool = False,
    recv_window: bool = False,
    across: bool = False,
    blackwell: bool = False,
    count: int = 0,
) -> tuple[str, ...]:
    """Names of MOVERS, the one inside the NVLink domain first. send_window, recv_window: whether the buffers are registered as
    symmetric windows. across: whether the ranks span several domains. count: elements that one rank gives.

    ValueError for a collective or a policy that there is not. A kernel may have the switch add; `helpers.nccl.predict` says when.
    """
    if collective not in COLLECTIVES:
        raise ValueError(f"unknown collective {collective!r}: expected one of {', '.join(COLLECTIVES)}")
    if policy not in POLICIES:
        raise ValueError(f"unknown policy {policy!r}: expected one of {', '.join(POLICIES)}")
    inside = not across and collective in COPIED and recv_window
    between = across and collective in COPIED_ACROSS and send_window and recv_window
    by_itself = inside and blackwell and collective == "all_gather" and count > LONG
    if (policy == "ZERO" and inside) or by_itself:
        return ("copy engine",)
    if policy == "ZERO" and between:
        return ("copy engine", "proxy and NIC")
    return ("SM kernel", "SM kernel, proxy and NIC") if across else ("SM kernel",)
