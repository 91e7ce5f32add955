"""Two "nodes": network namespaces joined by a pair of veth, each end held to a rate; torchrun across them, for real.

Needs root, and iproute2's ip and tc with the tbf queue; elsewhere these tests are skipped, and say why. Rates are read from
messages of a megabyte and more: the bucket lets smaller ones pass unshaped.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
import torchruns

RATE = 200e6 / 8  # bytes per second, one way
PREFIX = "bim-nodes-"

LAB = """
import json
import torch, torch.distributed as dist
from helpers.ranks import primitives, bench, emit, job

with job() as j:
    x = torch.arange(2**20, dtype=torch.float32) % 1000 + j.rank
    wanted = (torch.arange(2**20, dtype=torch.float32) % 1000) * j.nranks + sum(range(j.nranks))
    dist.all_reduce(x)
    timing = bench(dist.all_reduce, torch.zeros(2**20), warmup=1, reps=4)
    algbw = 4 * 2**20 / timing.min
    right = all(m.right for m in primitives.perform_all())
    emit(json.dumps([str(j), torch.equal(x, wanted), right, algbw * 2 * (j.nranks - 1) / j.nranks]))
"""

SKIPS = """
import time
import torch, torch.distributed as dist
from helpers.ranks import job

with job(timeout=2.0) as j:
    dist.all_reduce(torch.ones(4))
    if j.rank == 3:
        time.sleep(60)
    dist.all_reduce(torch.ones(1000))
"""


class Nodes(NamedTuple):
    """What torchruns.run takes as nodes, and where node 0 is."""

    nodes: list[tuple[list[str], dict[str, str]]]
    address: str


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=20)


def sweep() -> None:
    """Take away what tests that were killed have left: names carry the id of their process."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True, timeout=20).stdout
    for name, pid in re.findall(rf"^({PREFIX}(\d+)-\d)\b", listed, re.M):
        if int(pid) == os.getpid() or not psutil.pid_exists(int(pid)):
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True, timeout=20)


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[Nodes]:
    missing = [name for name in ("ip", "tc") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"two nodes need root and iproute2 (missing: {', '.join(missing) or 'root'})")
    names = [f"{PREFIX}{os.getpid()}-{node}" for node in range(2)]
    sweep()
    try:
        try:
            build(names)
        except subprocess.CalledProcessError as refused:
            pytest.skip(f"two nodes: {' '.join(refused.cmd)} is refused here: {refused.stderr.strip()}")
        env = [{"GLOO_SOCKET_IFNAME": f"veth{node}"} for node in range(2)]
        yield Nodes([(["ip", "netns", "exec", names[node]], env[node]) for node in range(2)], "10.99.0.1")
    finally:
        sweep()


def build(names: list[str]) -> None:
    """The pair of links goes with its namespaces: nothing is made outside them."""
    for name in names:
        run("ip", "netns", "add", name)
    run("ip", "link", "add", "veth0", "netns", names[0], "type", "veth", "peer", "name", "veth1", "netns", names[1])
    for node, name in enumerate(names):
        run("ip", "-n", name, "address", "add", f"10.99.0.{node + 1}/24", "dev", f"veth{node}")
        for device in ("lo", f"veth{node}"):
            run("ip", "-n", name, "link", "set", device, "up")
        shape = ("rate", f"{RATE * 8:.0f}bit", "burst", "64kb", "latency", "400ms")
        run("tc", "-n", name, "qdisc", "add", "dev", f"veth{node}", "root", "tbf", *shape)


@pytest.mark.matrix("the rate of the link between two nodes")
def test_busbw_is_the_rate_of_the_link_between_the_nodes(two_nodes, tmp_path):
    """Each direction of the pair carries what one port of a ring sends, so busbw, and not algbw, is the link's rate."""
    lab = tmp_path / "lab.py"
    lab.write_text(LAB)
    ended = torchruns.run(str(lab), nproc=2, nodes=two_nodes.nodes, address=two_nodes.address)
    assert [node.code for node in ended] == [0, 0], [node.err[-2000:] for node in ended]
    said = {
        int(rank): json.loads(text)
        for node in ended
        for rank, text in re.findall(r"^\[rank (\d)\] (.*)$", node.out, re.M)
    }
    assert sorted(said) == [0, 1, 2, 3]
    for label, equal, right, busbw in said.values():
        assert label == "4 ranks on 2 nodes, gloo, CPU" and equal and right
        assert 0.7 < busbw / RATE < 1.05


@pytest.mark.matrix("a hang on two nodes under torchrun for real")
def test_a_hang_is_reported_across_nodes(two_nodes, tmp_path):
    lab = tmp_path / "skips.py"
    lab.write_text(SKIPS)
    ended = torchruns.run(str(lab), nproc=2, nodes=two_nodes.nodes, address=two_nodes.address, timeout=50)
    report = "".join(node.err for node in ended)
    assert [node.code for node in ended] == [1, 1]
    assert "no progress for 2 s" in report
    assert re.search(r"ranks 0-2:? waiting in all_reduce #2 of float32\[1000\] at skips.py line 10", report), report[
        -3000:
    ]
    assert re.search(r"rank 3:? running at skips.py line 9", report), report[-3000:]


def test_nothing_of_it_is_left(two_nodes):
    sweep()
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True, timeout=20).stdout
    assert f"{PREFIX}{os.getpid()}" not in listed
    assert not {"veth0", "veth1"} & {path.name for path in Path("/sys/class/net").iterdir()}
