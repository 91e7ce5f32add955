"""AMD's GPUs with RCCL's words around the table, and the GPUs that people have: held against a link that a source tells, or not at all."""

from pathlib import Path

import pytest

from helpers.facts import FACTS, MACHINES, PRODUCTS
from helpers.nccl import parse_nccl_tests
from helpers.units import GIB, MIB
from helpers.yours import is_my_number_good
from helpers.yours.places import NAMES
from helpers.yours.tables.printing import printed

RCCL = """\
RCCL version : 2.27.7-develop:29e1567
HIP version  : 7.0.51831-a3e329ad8
ROCm version : 7.0.1.0-42-9428210
Hostname     : node-0
Librccl path : lib/librccl.so.1
"""


def table(name, busbw, nranks=8, collective="all_reduce", tests="develop:1a2b3c4", hosts=1):
    """A run of rccl-tests that reaches busbw, GB/s, at 8 GiB, with the lines that RCCL writes between the devices and the columns."""
    factor = {"all_reduce": 2 * (nranks - 1) / nranks, "sendrecv": 1}[collective]
    seconds = {n: 3e-5 + n * factor / busbw / 1e9 for n in (64 * MIB, GIB, 8 * GIB)}
    text = printed("H100", collective, nranks, "2.27.7", seconds, hosts).replace("NVIDIA H100 80GB HBM3", name)
    lines = text.split("\n")[1:]  # rccl-tests has no line of nccl-tests' version
    lines.insert(lines.index("# Using devices"), f"rccl-tests: Version {tests}")
    names = next(at for at, line in enumerate(lines) if line.startswith("#") and "algbw" in line)
    return "\n".join([*lines[:names], *RCCL.split("\n")[:-1], *lines[names:]])


KNOWN = {  # line rate in GB/s, one way; and whether a rate far below the links is accused
    "MI355X": (table("AMD Instinct MI355X", 402), 537.6, False),
    "MI350X": (table("AMD Instinct MI350X", 366, tests="HEAD:e1b8a3a"), 537.6, False),
    "MI325X": (table("AMD Instinct MI325X", 330, tests="Unknown "), 448, False),
    "MI300X": (table("AMD Instinct MI300X", 313, tests=":+"), 448, False),
    "MI300X in a virtual machine": (table("AMD Instinct MI300X VF", 310), 448, False),
    "two MI300X share one link": (table("AMD Instinct MI300X", 47.7, 2), 64, False),
    "four MI300X": (table("AMD Instinct MI300X", 140, 4), 192, False),
    "sendrecv takes one link": (table("AMD Instinct MI300X", 46, 8, "sendrecv"), 64, False),
    "a hive of MI100": (table("AMD Instinct MI100", 95, 4), 138, False),
    "MI300X over PCIe": (table("AMD Instinct MI300X", 45), 448, True),
    "MI300X over sockets": (table("AMD Instinct MI300X", 4), 448, True),
    "H800": (table("NVIDIA H800", 150), 200, False),
    "RTX 5090": (table("NVIDIA GeForce RTX 5090", 20, 2), 63, False),
    "eight RTX 5090 through the host": (table("NVIDIA GeForce RTX 5090", 2.1), 63, False),
    "RTX 4090": (table("NVIDIA GeForce RTX 4090", 11, 4), 31.5, False),
    "V100 on PCIe": (table("Tesla V100-PCIE-32GB", 9, 4), 15.75, False),
    "two DGX Sparks": (table("NVIDIA GB10", 22, 2, hosts=2), 25, False),
}


@pytest.mark.parametrize(("text", "rate", "accused"), KNOWN.values(), ids=KNOWN)
def test_what_a_source_tells_is_the_line_rate(text, rate, accused):
    found = is_my_number_good(text)
    assert found.line_rate == pytest.approx(rate * 1e9, rel=1e-3), str(found)
    assert found.accused == (("wrong path",) if accused else ()) and found.machine
    assert found.what.endswith("RCCL 2.27.7")


def test_the_public_fault():
    found = is_my_number_good((Path(__file__).parents[1] / "faults" / "11-mi355x.txt").read_text())
    assert "402 GB/s busbw at 8 GiB" in found.sentence and "75% of the one-way line rate of 538 GB/s" in found.sentence
    assert found.machine.startswith("8 MI355X, by the list of devices") and found.accused == ()


UNKNOWN = {
    "AMD Instinct MI250X": "each half of an MI250 is a GPU",
    "AMD Instinct MI210": "bridges join MI210 or not",
    "AMD Instinct MI308X": "no source that is read here tells the links",
    "AMD Instinct MI300A": "no source that is read here tells the links",
    "NVIDIA H20": "no source that is read here tells the NVLinks of an H20",
    "NVIDIA A800-SXM4-80GB": "fewer than an A100's",
    "NVIDIA H100 NVL": "which of them NVLink bridges join",
    "NVIDIA H200 NVL": "which of them NVLink bridges join",
    "NVIDIA A100 80GB PCIe": "which of them NVLink bridges join",
    "NVIDIA RTX A6000": "which of them NVLink bridges join",
    "NVIDIA GeForce RTX 3090": "which of them NVLink bridges join",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "whose generation and lanes",
    "NVIDIA A10": "whose generation and lanes",
    "NVIDIA L4": "whose generation and lanes",
    "Tesla V100-SXM2-32GB": "lead to single neighbours",
    "NVIDIA GH200 480GB": "stands alone in its host, in pairs or in racks",
    "AMD Radeon AI PRO R9700": "no machine with such GPUs is known here",
}


@pytest.mark.parametrize(("name", "why"), UNKNOWN.items(), ids=UNKNOWN)
def test_what_no_source_tells_is_said_and_not_accused(name, why):
    found = is_my_number_good(table(name, 20, 4))
    assert found.line_rate is None and found.accused == ()
    (cause,) = (cause for cause in found.causes if cause.name == "no machine")
    assert name in cause.why and why in cause.why


def test_a_device_without_a_name_is_read():
    bare = table("", 313).replace("] \n", "]\n")
    assert len(parse_nccl_tests(bare).devices) == 8 and parse_nccl_tests(bare).rccl == "2.27.7"
    assert "does not say which GPUs" in is_my_number_good(bare).causes[0].why


def test_what_rccl_took_stands_behind_its_rows():
    """rccl-tests -A 1."""
    text = table("AMD Instinct MI350X", 366)
    lines = [
        f"{line}    RING    SIMPLE          32" if line.strip()[:1].isdigit() else line for line in text.split("\n")
    ]
    names = next(at for at, line in enumerate(lines) if "algbw" in line)
    lines[names] += "     algo     proto   nchannels"
    assert is_my_number_good("\n".join(lines)).points == is_my_number_good(text).points


def test_products_are_whole():
    """Each is a machine, a fabric or slots with a fact, or a reason."""
    for key, product in PRODUCTS.items():
        told = [part for part in ("machine", "why", "shape") if part in product]
        assert len(told) == 1 and ("why" in product) == (
            f"{key}.fabric" not in FACTS and "machine" not in told and "slot" not in product
        )
        assert product.get("machine") is None or product["machine"] in MACHINES
    assert len({pattern for pattern, _ in NAMES}) == len(NAMES)
