"""Reads the network ports of a machine: ibstat, ibstatus and ibv_devinfo. Chapter: interconnects.

After rdma-core 691953d8 (2026-08): infiniband-diags/ibstat.c and scripts/ibstatus, libibverbs/examples/devinfo.c.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from helpers.nccl.output.tables.cleaned import spaced
from helpers.nccl.output.tables.errors import MachineError

SIGN = re.compile(r"\bCA:? '[\w.-]+'|Infiniband device '|\bhca_id:", re.ASCII)
_CARD = re.compile(r"(?:CA:? '|Infiniband device '|hca_id:\s*)([\w.-]+)'?(?: port (\d{1,12}))?", re.ASCII)
_TYPE = re.compile(r"(?:CA type|vendor_part_id): *(\S+)", re.ASCII)
_PORT = re.compile(r"\b(?:Port (\d{1,12}):|port:\s*(\d{1,12})) *$", re.ASCII)
_FIELDS = {
    "state": re.compile(r"(?<![a-z] )\bstate:\s*(?:\d{1,12}: *)?(?:PORT_)?([A-Za-z]+)", re.IGNORECASE | re.ASCII),
    "physical": re.compile(r"\bphys(?:ical)?[ _]state:\s*(?:\d{1,12}: *)?([A-Za-z]+)", re.IGNORECASE | re.ASCII),
    "rate": re.compile(r"\brate:\s*(\d{1,12}(?:\.\d{1,12})?)", re.IGNORECASE | re.ASCII),
    "width": re.compile(r"\brate:.*\((\d{1,12})X|active_width:\s*(\d{1,12})X", re.IGNORECASE | re.ASCII),
    "sm": re.compile(r"\bsm[ _]lid:\s*(\w+)", re.IGNORECASE | re.ASCII),
    "layer": re.compile(r"\blink[ _]layer:\s*(\w+)", re.IGNORECASE | re.ASCII),
}


class Port(NamedTuple):
    """state: "active", "down", "init", "armed" or another word, small letters. rate: bits per second, None where it is not told.

    kind: the card's type as printed (MT4129), "" where it is not. width: lanes, None where not told. manager: whether a subnet manager
    is known, None where not told. layer: "InfiniBand", "Ethernet" or "".
    """

    card: str
    number: str
    kind: str
    state: str
    physical: str
    rate: float | None
    width: int | None
    manager: bool | None
    layer: str

    @property
    def name(self) -> str:
        return f"{self.card} port {self.number}"


def parse_ports(text: str) -> tuple[Port, ...]:
    """Every port in order; MachineError where a card has no port, or a port no state."""
    found: list[dict[str, str]] = []
    card, kind = "", ""
    for line in spaced(text).split("\n"):
        if named := _CARD.search(line):
            card, kind = named[1], ""
            found += [{"card": card, "number": named[2]}] if named[2] else []
        elif told := _TYPE.search(line):
            kind = told[1]
        elif card and (port := _PORT.search(line)):
            found.append({"card": card, "number": port[1] or port[2], "kind": kind})
        elif found:
            for name, pattern in _FIELDS.items():
                if hit := pattern.search(line):
                    found[-1].setdefault(name, next(part for part in hit.groups() if part))
    if not found or any("state" not in one for one in found):
        lacking = f"{found[-1]['card']} port {found[-1]['number']}" if found else card or "any card"
        raise MachineError(
            f"ibstat, ibstatus or ibv_devinfo tell a state of every port, and the text has none of {lacking}"
        )
    return tuple(map(_port, found))


def _port(told: dict[str, str]) -> Port:
    sm = told.get("sm")
    return Port(
        told["card"],
        told["number"],
        told.get("kind", ""),
        told["state"].lower().replace("initializing", "init").replace("initialize", "init"),
        told.get("physical", "").lower(),
        float(told["rate"]) * 1e9 if "rate" in told else None,
        int(told["width"]) if "width" in told else None,
        int(sm, 16) != 0 if sm and re.fullmatch(r"(?:0x)?[\da-fA-F]+", sm, re.ASCII) else None,
        {"infiniband": "InfiniBand", "ib": "InfiniBand", "ethernet": "Ethernet"}.get(told.get("layer", "").lower(), ""),
    )
