"""The engines that bytes can pass on their way to another GPU, and who gives the orders. Chapter: who-moves.

Source: NCCL 2.30.7, src/device (kernels), src/ce_coll.cc (copy engines), src/proxy.cc and src/transport/net.cc (the CPU's thread),
src/rma (put and signal), src/include/nccl_device/gin (orders from a GPU), src/transport/nvls.cc and coll_net.cc (switches that add).
"""

from __future__ import annotations

from dataclasses import dataclass

ENGINES = ("SMs", "copy engine", "CPU", "NIC", "switch")  # between the memory of one GPU and that of another


@dataclass(frozen=True)
class Mover:
    """touches: the engines through which the bytes go, in order; all of ENGINES. orders: the engine that posts each transfer.
    adds: the one that can sum on the way, "" where none can. across: whether it leaves the NVLink domain.
    """

    name: str
    touches: tuple[str, ...]
    orders: str
    adds: str
    across: bool

    @property
    def holds_sms(self) -> bool:
        """Whether thread blocks are busy for as long as bytes move."""
        return "SMs" in self.touches


MOVERS: dict[str, Mover] = {
    one.name: one
    for one in (
        Mover("SM kernel", ("SMs",), "SMs", "SMs", False),
        Mover("SM kernel, NVSwitch adds", ("SMs", "switch"), "SMs", "switch", False),
        Mover("copy engine", ("copy engine",), "CPU", "", False),
        Mover("SM kernel, proxy and NIC", ("SMs", "NIC"), "CPU", "SMs", True),
        Mover("SM kernel, network switch adds", ("SMs", "NIC", "switch"), "CPU", "switch", True),
        Mover("proxy and NIC", ("NIC",), "CPU", "", True),
        Mover("GPU-initiated NIC", ("NIC",), "SMs", "", True),
    )
}
