"""Which network joins the nodes, by the lines of NCCL's log that stand beside a table. Chapter: yours.

The lines: NET/IB and NET/Socket of NCCL's src/transport/net_ib and net_socket.cc, NET/OFI of aws-ofi-nccl, the topology of graph/topo.cc.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from helpers.facts import MACHINES
from helpers.facts.machine import part_name
from helpers.units import Bandwidth
from helpers.yours.places import AS, Place

SOCKETS, EFA = "sockets", "EFA"
_LIST = re.compile(r"NET/IB\w* : Using ([^\n]*)", re.ASCII)
_CARD = re.compile(r"\[\d+\](\w[\w.-]*):\d+/(IB|RoCE)\b", re.ASCII)
_USED = re.compile(r"Using network (Socket|IB\w*)|via NET/(Socket|IB\w*)/", re.ASCII)
_EFA = re.compile(
    r"(?i:selected provider is) efa\b(?:[^\n]{0,80}?\(found (\d{1,3}) nics\))?|(?:Using network |via NET/)AWS Libfabric"
)
_TCPXO = re.compile(r"NET/FasTrak|GPUDirect-?TCPXO|Using network FasTrak")
_WAY = re.compile(r"via NET/[^\n]*", re.ASCII)
_PORT = re.compile(r"\bNET/\d+ \([0-9a-fx.-]+/\d+/(\d{1,4}\.\d{1,9})\)", re.ASCII)
_LINE_RATES = (12.5e9, 25e9, 50e9, 100e9)


class Network(NamedTuple):
    """kind: "InfiniBand", "RoCE", "EFA", "GPUDirect-TCPXO" or "sockets". cards: how many of a node NCCL found, 0 where it does not say.

    direct: whether all connections between nodes go by GPUDirect RDMA, None where the log has none. port: bytes per second, one way.
    """

    kind: str
    cards: int = 0
    direct: bool | None = None
    port: float | None = None

    def joining(self, place: Place) -> Place:
        """The nodes with this network between them; as they are where its rate is neither told nor that of a product with such cards."""
        if place.ports or place.nodes < 2 or self.kind == SOCKETS:
            return place
        if self.kind in ("InfiniBand", "RoCE") and self.port and self.cards:
            return _joined(place, self.port, self.cards, f"{self.cards} {self.kind} cards", supposed=False)
        words = {"InfiniBand": "infiniband", "RoCE": "infiniband", EFA: "efa", "GPUDirect-TCPXO": "tcpxo"}[self.kind]
        gpu = AS.get(place.accelerator, place.accelerator)
        like = (m for m in MACHINES.values() if m.accelerator == gpu and (m.network or "").startswith(words))
        whole = (m for m in like if place.gpus == m.gpus and (self.kind == EFA or self.cards in (0, m.nics)))
        machine = next(
            whole, None
        )  # EFA has only these products; one that attached too few interfaces is one of them, too
        if machine is None or not machine.port or (words == "infiniband" and not self.cards):
            return place
        said = f"{machine.nics} cards of {part_name(machine.network or '')}, as in {machine.title}"
        return _joined(place, machine.port.bandwidth.value, machine.nics, said, words == "infiniband")


def network_of(text: str) -> Network | None:
    """What the lines tell; None where none of them names a network."""
    ways = set(_WAY.findall(text))
    direct = all("GDRDMA" in way for way in ways) if ways else None
    rates = [float(rate) * 1e9 for rate in _PORT.findall(text)]
    port = next((line for line in _LINE_RATES if rates and abs(min(rates) / line - 1) < 0.05), None)
    used = {a or b for a, b in _USED.findall(text)}
    found = list(_EFA.finditer(text))
    if found and "provider is cxi" not in text.lower():
        return Network(EFA, max(int(hit[1] or 0) for hit in found), direct)
    if _TCPXO.search(text):
        return Network("GPUDirect-TCPXO")
    if used == {"Socket"}:
        return Network(SOCKETS, direct=False)
    lists = [_CARD.findall(line) for line in set(_LIST.findall(text))]
    most = max((len(set(cards)) for cards in lists), default=0)
    if not most:
        return None
    kind = "RoCE" if any(speaks == "RoCE" for cards in lists for _, speaks in cards) else "InfiniBand"
    return Network(kind, most, direct if "Socket" not in used else False, port)


def _joined(place: Place, port: float, cards: int, said: str, supposed: bool) -> Place:
    share = Bandwidth(port * cards / place.gpus, "one way")
    return replace(place, nics=cards, across=share, network=said, supposed=supposed)
