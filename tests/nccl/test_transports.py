"""Which transport joins two ranks, on machines of every shape."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from helpers.nccl import transport


def machine(**parts):
    base = {"accelerator": "H100", "gpus": 8, "nodes": 1, "domain": 8, "shape": "switch", "nics": 8, "cpu": "Intel"}
    return SimpleNamespace(**(base | parts), across=None)


@pytest.mark.parametrize(
    ("parts", "pair", "name", "hop", "writer"),
    [
        ({}, (0, 7), "P2P", "NVSwitch", "sender"),
        ({"accelerator": "A100"}, (0, 7), "P2P", "NVSwitch", "receiver"),  # reads over NVLink, only on Ampere
        ({"nodes": 2}, (7, 8), "NET", "NIC", "sender"),
        ({"accelerator": "GB200", "gpus": 4, "nodes": 18, "domain": 72}, (0, 71), "P2P", "NVSwitch", "sender"),
        ({"accelerator": "A40", "gpus": 4, "domain": 2, "shape": "bridges"}, (0, 1), "P2P", "link", "sender"),
        ({"accelerator": "A40", "gpus": 4, "domain": 2, "shape": "bridges"}, (1, 2), "SHM", "host memory", "sender"),
        ({"accelerator": "L40S", "domain": 1, "shape": "host"}, (0, 1), "SHM", "host memory", "sender"),
        ({"gpus": 2, "domain": 1, "shape": "host", "cpu": "AMD"}, (0, 1), "P2P", "processor", "sender"),
    ],
)
def test_where_two_gpus_sit_decides(parts, pair, name, hop, writer):
    found = transport(machine(**parts), *pair)
    assert (found.name, found.writer) == (name, writer) and hop in found.hops and found.why
    assert found.proxy == (name == "NET") and found.direct == (name == "P2P")


def test_without_gpudirect_the_bytes_pass_host_memory_twice():
    two = machine(nodes=2)
    assert transport(two, 0, 8).hops.count("host memory") == 0
    assert transport(two, 0, 8, gpudirect=False).hops.count("host memory") == 2


def test_a_rank_has_no_transport_to_itself():
    for pair in ((0, 0), (0, 8), (-1, 0)):
        with pytest.raises(ValueError, match="two different ranks of 8"):
            transport(machine(), *pair)
