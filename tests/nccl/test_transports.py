"""Which transport joins two ranks, on machines of every shape."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers.facts import MACHINES
from helpers.nccl import transport


@pytest.mark.parametrize(
    ("name", "pair", "transport_name", "hop", "writer"),
    [
        ("HGX-H100", (0, 7), "P2P", "NVSwitch", "sender"),
        ("DGX-A100", (0, 7), "P2P", "NVSwitch", "receiver"),  # reads over NVLink, only on Ampere
        ("2x8-IB", (7, 8), "NET", "NIC", "sender"),
        ("GB200-NVL72", (0, 71), "P2P", "NVSwitch", "sender"),
        ("4xA40", (0, 1), "P2P", "link", "sender"),
        ("4xA40", (1, 2), "SHM", "host memory", "sender"),
        ("8xL40S", (0, 1), "SHM", "host memory", "sender"),
    ],
)
def test_where_two_gpus_sit_decides(name, pair, transport_name, hop, writer):
    found = transport(MACHINES[name], *pair)
    assert (found.name, found.writer) == (transport_name, writer) and hop in found.hops and found.why
    assert found.proxy == (found.name == "NET") and found.direct == (found.name == "P2P")


def test_two_gpus_of_an_amd_host_need_no_link():
    two = replace(MACHINES["4xPCIe"], gpus=2, cpu="AMD")
    assert transport(two, 0, 1).name == "P2P" and transport(replace(two, cpu="Intel"), 0, 1).name == "SHM"
    assert transport(replace(two, gpus=4), 0, 1).name == "SHM", "four of them do"


def test_without_gpudirect_the_bytes_pass_host_memory_twice():
    two = MACHINES["2x8-IB"]
    assert transport(two, 0, 8).hops.count("host memory") == 0
    assert transport(two, 0, 8, gpudirect=False).hops.count("host memory") == 2


def test_a_rank_has_no_transport_to_itself():
    for pair in ((0, 0), (0, 8), (-1, 0)):
        with pytest.raises(ValueError, match="two different ranks of 8"):
            transport(MACHINES["HGX-H100"], *pair)
