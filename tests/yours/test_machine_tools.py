"""What a machine's own tools tell: each by itself, several in one paste, healthy and not."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from made_tables import run, times
from made_tools import (
    G,
    P,
    devinfo,
    ibstat,
    ibstatus,
    link_errors,
    links,
    nvbandwidth,
    old_rocm_smi,
    old_smi,
    p2p,
    perftest,
    ports,
    query,
    rocm_smi,
    smi,
)

sys.path.append(str(Path(__file__).parents[1] / "nccl" / "output"))
from damage import damaged

from helpers.units import MIB
from helpers.yours import is_my_number_good
from helpers.yours.causes import KINDS
from helpers.yours.tables.printing import printed

H100 = G()
WORKING = G(used="70123", util="100%", power="698W")


def groups(row):
    """A row of the sample's matrix of access, where GPUs 0 and 1, and 2 and 3, reach each other only."""
    at = int(row[1])
    return row[1] + "".join(f"{int(at // 2 == to // 2):6d}" for to in range(4))


CUTS = {"within the first row": 150, "within the fourth": 400, "at the head": 60, "at the title": 30}
CASES = {
    # nvidia-smi's table
    "smi: idle": (smi([H100] * 8), ()),
    "smi: at work, all at their power": (smi([WORKING] * 8, [(n, "python3", 70000) for n in range(8)]), ()),
    "smi: driver 418": (old_smi([G("Tesla V100-SXM2", total="32480", cap="300W")] * 4), ()),
    "smi: driver 595": (smi([G("NVIDIA GB300")] * 4, driver="595.71.05", cuda="13.2"), ()),
    "smi: driver 361": (
        old_smi([G("Tesla P100-SXM2...", total="16280", cap="300W")]).replace(" 00000000:", " 0000:"),
        (),
    ),
    "smi: driver 361, memory was wrong": (
        old_smi([G("Tesla P100", ecc="2")]).replace(" 00000000:", " 0002:"),
        ("GPU in error",),
    ),
    "smi: Windows": (smi([G("NVIDIA GeForce RTX 4090", cap="450W")]).replace("  On  |", " WDDM |"), ()),
    "smi: MIG": (smi([H100, H100._replace(mig="Enabled")]), ()),
    "smi: a GB10 tells no memory": (
        smi([G("NVIDIA GB10")]).replace("      1MiB /  81559MiB", "Not Supported         ").replace("700W", " N/A"),
        (),
    ),
    "smi: two on one GPU": (
        smi([WORKING], [(0, "/usr/bin/python3 serve.py", 40000), (0, "python", 30000)]),
        ("other processes",),
    ),
    "smi: contexts are no work": (smi([WORKING], [(0, "python3", 70000), (0, "python3", 500), (0, "nvitop", 300)]), ()),
    "smi: of two machines": (smi([WORKING], [(0, "python", 70000)]) * 2, ()),
    "smi: driver 418, two on one": (
        old_smi([G("Tesla V100", total="16160")], [(0, "python", 9000), (0, "python", 6000)]),
        ("other processes",),
    ),
    "smi: taken by nobody": (smi([G(used="60000")]), ()),
    "smi: busy and saving power": (smi([WORKING._replace(state="P8", power="90W")]), ("clocks held down",)),
    "smi: idle in P8": (smi([H100._replace(state="P8")] * 2), ()),
    "smi: one may take less": (
        smi([WORKING] * 3 + [WORKING._replace(cap="350W", power="350W")]),
        ("clocks held down",),
    ),
    "smi: two products, two caps": (smi([H100, G("NVIDIA L4", cap="72W")]), ()),
    "smi: memory was wrong": (smi([H100, H100._replace(ecc="2")]), ("GPU in error",)),
    "smi: ERR!": (smi([H100, H100._replace(power="ERR!", cap="ERR!")]), ("GPU in error",)),
    "smi: no driver": (
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that\n",
        ("driver",),
    ),
    "smi: mismatch": (
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.54\n",
        ("driver",),
    ),
    "smi: lost": ("Unable to determine the device handle for GPU0000:18:00.0: Unknown Error\n", ("GPU in error",)),
    # rocm-smi's table
    "rocm: idle": (rocm_smi([(120.0, 132, "auto", 750.0, 0, 0)] * 8), ()),
    "rocm: at work": (rocm_smi([(749.0, 1653, "auto", 750.0, 43, 100)] * 8), ()),
    "rocm: old, at work": (old_rocm_smi([(280.0, 1600, "auto", 300.0, 90, 100)] * 4), ()),
    "rocm: one may take less": (
        rocm_smi([(700.0, 1653, "auto", 750.0, 43, 100)] * 7 + [(500.0, 1200, "auto", 500.0, 43, 100)]),
        ("clocks held down",),
    ),
    "rocm: old, busy and low": (old_rocm_smi([(80.0, 500, "low", 300.0, 90, 100)]), ("clocks held down",)),
    # nvidia-smi -q
    "q: idle": (query(["Idle"]), ()),
    "q: at its power": (query(["SW Power Cap"]), ()),
    "q: hot": (query(["HW Slowdown", "HW Thermal Slowdown"]), ("clocks held down",)),
    "q: the power supply": (query(["HW Slowdown", "HW Power Brake Slowdown"], old=True), ("clocks held down",)),
    "q: warm memory": (query(["SW Thermal Slowdown"], gpus=1), ("clocks held down",)),
    "q: limit": (query(["SW Power Cap"], limit="350.00"), ("clocks held down",)),
    "q: lanes": (query(["Idle"], lanes="8x"), ("narrow slot",)),
    "q: memory": (query(["Idle"], ecc=4), ("GPU in error",)),
    "q: of memory's errors alone": (
        query(ecc=4, gpus=1).partition("    ECC Errors")[2].partition("    Remapped")[0],
        ("GPU in error",),
    ),
    "q: rows": (query(["Idle"], remap="Yes"), ("GPU in error",)),
    "q: a row waits": (query(["Idle"], pending="Yes"), ()),
    "q: fabric": (query(["Idle"], fabric="In Progress"), ("GPU in error",)),
    "q: no fabric": (query(["Idle"], fabric="N/A"), ()),
    # nvidia-smi nvlink
    "nvlink: all": (links([[26.562] * 18] * 8), ()),
    "nvlink: no bridge": (links([[None] * 4] * 2, "NVIDIA RTX A6000"), ()),
    "nvlink: bridges on some links of all": (links([[26.562] * 12 + [None] * 6] * 2, "NVIDIA H100 PCIe"), ()),
    "nvlink: two are off": (links([[26.562] * 18] * 7 + [[26.562] * 16 + [None] * 2]), ("links off",)),
    "nvlink: of two machines": (
        links([[25.0] * 12]) + links([[25.0] * 11 + [None]]).replace("-0000-", "-0009-"),
        ("links off",),
    ),
    "nvlink: one is slower": (links([[25.0] * 6, [25.0] * 5 + [20.0]]), ("links off",)),
    "nvlink: trained anew": (link_errors(0, "Recovery", 3), ("links off",)),
    "nvlink: no errors": (link_errors(0, "Replay", 0), ()),
    "nvlink: repeated": (link_errors(0, "Replay", 3), ()),
    # ports
    "ports: eight": (ibstat(ports(8)), ()),
    "ports: ibstatus": (ibstatus(ports(8)), ()),
    "ports: ibv_devinfo": (devinfo(ports(8)), ()),
    "ports: Ethernet has no manager": (ibstat([P("mlx5_0", sm=0, layer="Ethernet", rate=200)]), ()),
    "ports: one of eight is down": (ibstat(ports(8, state="Down", physical="Polling", rate=10)), ("port down",)),
    "ports: so by ibstatus": (ibstatus(ports(8, state="Down", physical="Disabled", rate=10)), ("port down",)),
    "ports: spare ones are down": (
        ibstat([*ports(10), P("mlx5_10", "Down", "Polling"), P("mlx5_11", "Down", "Disabled")]),
        (),
    ),
    "ports: the only one is down": (ibstat(ports(1, state="Down", physical="Polling")), ("port down",)),
    "ports: no manager": (ibstat(ports(4, state="Initializing", sm=0)), ("port down",)),
    "ports: so by ibv_devinfo": (devinfo(ports(4, state="init", sm=0)), ("port down",)),
    "ports: one is slower": (ibstat(ports(8, rate=200)), ("slow port",)),
    "ports: another product is slower": (
        ibstat([*ports(8), P("mlx5_8", rate=100, kind="MT4125", layer="Ethernet")]),
        (),
    ),
    "ports: two more for storage": (ibstat([*ports(8), P("mlx5_8", rate=200), P("mlx5_9", rate=200)]), ()),
    "ports: half of them for storage": (ibstatus([*ports(4), *(P(f"mlx5_{n}", rate=200) for n in range(4, 8))]), ()),
    "ports: of two machines": (ibstat(ports(8)) + ibstat(ports(8, rate=200)), ("slow port",)),
    "ports: of sixteen": (ibstatus(ports(1)) * 16, ()),
    # perftest
    "wire: 97%": (perftest({65536: 388.0}), ()),
    "wire: 97% in MiB": (perftest({65536: 46200.0}, "MiB") + ibstat(ports(1)), ()),
    "wire: as old versions write it": (perftest({65536: 46200.0}, "MB", verb="RDMA_Read") + ibstat(ports(1)), ()),
    "wire: both ways": (perftest({65536: 770.0}, both=True) + ibstat(ports(1)), ()),
    "wire: half of its port": (perftest({65536: 190.0}) + ibstat(ports(1)), ("slow wire",)),
    "wire: one way of two": (perftest({65536: 390.0}, both=True) + ibstat(ports(1)), ("slow wire",)),
    "wire: nobody tells the port": (perftest({65536: 190.0}), ()),
    "wire: a loopback": (perftest({8 << 20: 24056.7}, "MB"), ()),
    "wire: both ends in one log": (re.sub("( #bytes.*\n)", r"\1\1", perftest({65536: 23300.0}, "MB")), ()),
    "wire: it began slowly": (perftest({65536: 54.0}, peak=7.0) + ibstat(ports(1)), ()),
    "wire: small messages": (perftest({2: 0.1, 4096: 90.0}) + ibstat(ports(1)), ()),
    "wire: a GPU's memory": (perftest({65536: 388.0}) + perftest({65536: 110.0}, gpu=True), ("slow wire",)),
    "wire: a GPU's memory, well": (perftest({65536: 388.0}) + perftest({65536: 386.0}, gpu=True), ()),
    "wire: one rail of four": (
        "".join(perftest({65536: rate}, card=f"mlx5_{n}") for n, rate in enumerate([388, 388, 240, 388])),
        ("slow wire",),
    ),
    # copies
    "p2p: eight H100": (p2p(), ()),
    "p2p: one pair": (p2p(on=lambda at, to: 40.0 if (at, to) == (3, 7) else 390.0), ("slow pair",)),
    "p2p: one GPU": (p2p(on=lambda at, to: 40.0 if 5 in (at, to) else 390.0), ("slow pair",)),
    "p2p: all": (p2p(on=lambda at, to: 90.0), ("slow link",)),
    "p2p: bridges": (p2p(4, "NVIDIA RTX A6000", lambda at, to: 52.0 if at // 2 == to // 2 else 13.0, 12.0), ()),
    "p2p: two sockets": (p2p(8, "NVIDIA L4", lambda at, to: 24.0 if at // 4 == to // 4 else 14.0, 12.0), ()),
    "p2p: four A100 without a switch": (p2p(4, "NVIDIA A100-SXM4-40GB", lambda at, to: 93.0), ()),
    "p2p: four H100 over PCIe": (p2p(4, on=lambda at, to: 45.0), ("slow link",)),
    **{f"p2p: cut {what}": (p2p(8)[: p2p(8).index("P2P=Enabled") + at], ()) for what, at in CUTS.items()},
    "p2p: cut, and words of the reader's": (p2p(8)[: p2p(8).index("P2P=Enabled") + 400] + "\n\nIs that good?\n", ()),
    "p2p: cut behind a slow pair": (
        (slow := p2p(8, on=lambda at, to: 40.0 if (at, to) == (0, 3) else 390.0))[
            : slow.index("Bidirectional P2P=E") + 300
        ],
        ("slow pair",),
    ),
    "p2p: one pair of four": (
        re.sub(r"(?m)^( +0\t.*) 1$", r"\1 0", p2p(4, "Tesla V100-SXM2-16GB", lambda at, to: 48.0)),
        ("no P2P",),
    ),
    "p2p: groups of two": (
        re.sub(r"(?m)^( +\d\t +)(\d +)(\d +)(\d +)(\d)$", groups, p2p(4, "Tesla V100", lambda at, to: 48.0)),
        (),
    ),
    "p2p: GeForce": (p2p(2, "NVIDIA GeForce RTX 4090", lambda at, to: 21.0, 21.0, access=0), ()),
    "p2p: GeForce that could": (p2p(2, "NVIDIA GeForce RTX 3090", lambda at, to: 21.0, 21.0, access=0), ("no P2P",)),
    "p2p: allowed, and does not work": (p2p(2, "NVIDIA RTX 6000", lambda at, to: 21.0, 21.0, quick=20.0), ("no P2P",)),
    "p2p: over a slot the latency tells": (p2p(2, "NVIDIA RTX 6000", lambda at, to: 21.0, 21.0, quick=1.5), ()),
    "p2p: worse than through the host": (p2p(6, "NVIDIA RTX 4090", lambda at, to: 9.9, 22.0), ("no P2P",)),
    "nvbandwidth: the line before it was left out": (
        nvbandwidth(6, "NVIDIA RTX A6000", lambda at, to: 26.3).replace("Running ", "..."),
        (),
    ),
    "nvbandwidth: eight H100": (nvbandwidth(), ()),
    "nvbandwidth: JSON": (nvbandwidth(as_json=True), ()),
    "nvbandwidth: a pair": (nvbandwidth(between=lambda at, to: 40.0 if (at, to) == (3, 7) else 390.0), ("slow pair",)),
    "nvbandwidth: a pair, JSON": (
        nvbandwidth(between=lambda at, to: 40.0 if (at, to) == (3, 7) else 390.0, as_json=True),
        ("slow pair",),
    ),
    "nvbandwidth: one slot": (nvbandwidth(host=lambda gpu: 13.5 if gpu == 2 else 55.3), ("narrow slot",)),
    "nvbandwidth: all slots, of a machine that is not told": (nvbandwidth(host=lambda gpu: 12.9), ()),
    "nvbandwidth: B200": (nvbandwidth(name="NVIDIA B200", between=lambda at, to: 780.0), ()),
    "nvbandwidth: one GPU": (nvbandwidth(1, between=None), ()),
}


@pytest.mark.parametrize(("text", "accused"), CASES.values(), ids=CASES)
def test_what_each_tool_tells(text, accused):
    found = is_my_number_good(text)
    assert (found.refused, found.accused) == ("", accused), str(found)
    assert found.kind == "machine" and found.sentence
    assert all(KINDS[one.name].repair for one in found.causes if one.accuses)


@pytest.mark.parametrize("before", ["node-1: ", "[1,0]<stdout>:", "> ", "    "])
@pytest.mark.parametrize(
    "name",
    [
        "smi: one may take less",
        "ports: one is slower",
        "p2p: one pair",
        "nvbandwidth: one slot",
        "wire: one rail of four",
    ],
)
def test_prefixes_change_nothing(name, before):
    text, accused = CASES[name]
    assert is_my_number_good("\r\n".join(before + line for line in text.split("\n"))).accused == accused


SAID = {
    "smi: at work, all at their power": "GPU-Util says how much of the time some kernel ran",
    "p2p: eight H100": "87% of the line rate of H100. Both ways at once are 741 GB/s together, 1.9 times one way.",
    "wire: 97%": "388 Gb/s, to or from memory of the host at 64 KiB; the next port that is sold has 50 GB/s one way, 97%",
    "wire: 97% in MiB": "mlx5_0 passes 48.4 GB/s one way, 388 Gb/s, to or from memory of the host at 64 KiB, 97% of its port",
    "ports: one is slower": "8 of 8 ports are active, 1 at 200 Gb/s (25 GB/s one way), 7 at 400 Gb/s",
    "wire: a loopback": "the next port that is sold has 25 GB/s one way, 101%",
    "nvbandwidth: the line before it was left out": "From GPU to GPU 26.3 GB/s one way are typical",
    "nvlink: no errors": "0 of 12 counters of errors are above 0",
    "nvlink: all": "18 links a GPU at most, 26.6 GB/s one way each",
    "smi: no driver": "It says: NVIDIA-SMI has failed because",
}
WHY = {
    "smi: two on one GPU": "python3 (39.1 GiB) and python (29.3 GiB)",
    "p2p: one pair": "GPU 3 to GPU 7 copies 40 GB/s one way, where 390 GB/s are typical; the way back has 390 GB/s",
    "p2p: one GPU": "GPU 5 is in all of them",
    "p2p: worse than through the host": "with P2P the GPUs copy 45% of what they do through memory of the host",
    "q: a row waits": "a bad row of memory that is replaced when the GPU is reset",
    "q: hot": "GPU 00000000:11:00.0: HW Thermal Slowdown is active: it is too hot",
    "wire: a GPU's memory": "mlx5_0 passes 28% of what it does with memory of the host",
    "ports: no manager": "no subnet manager has made it active",
    "nvbandwidth: all slots, of a machine that is not told": "20% of 63 GB/s one way",
}


@pytest.mark.parametrize(("name", "said"), SAID.items(), ids=SAID)
def test_the_sentence_names_numbers(name, said):
    assert said in is_my_number_good(CASES[name][0]).sentence


@pytest.mark.parametrize(("name", "why"), WHY.items(), ids=WHY)
def test_a_cause_names_what_is_wrong(name, why):
    assert why in is_my_number_good(CASES[name][0]).causes[0].why


def test_they_stand_beside_a_table():
    table = printed(
        "H100",
        "all_reduce",
        8,
        "2.27.7",
        {n: took * (4 if n >= 16 * MIB else 1) for n, took in times(run("H100")).items()},
    )
    found = is_my_number_good(table + query(["HW Slowdown", "HW Power Brake Slowdown"]) + ibstat(ports(8)))
    assert found.kind == "nccl-tests" and found.points and "clocks held down" in found.accused
    assert found.what.endswith("; and nvidia-smi -q of 2 GPUs; and 8 network ports of a machine")
    alone = is_my_number_good(table)
    assert set(alone.accused) < set(found.accused) and found.causes[0] == alone.causes[0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (perftest({}), "line 6: no row follows the names of the columns"),
        (
            " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n 2 1000 1.1 2.2 1.2\n",
            "a latency is no bandwidth",
        ),
        ("CA 'mlx5_0'\n\tCA type: MT4129\n", "the text has none of mlx5_0"),
        (
            p2p(4).replace("390.00 390.00 390.00 ", "390.00 390.00 ", 1),
            "a row of this table has 4 cells behind its name, got 3",
        ),
        (p2p(4).replace(" 390.00", "  oops ", 1), "in this table stand numbers or N/A, got 'oops'"),
        ("| NVIDIA-SMI 550.54.15   Driver Version: 550.54.15 |\n", "no GPU of it is whole"),
        ('{"nvbandwidth": {"testcases": 3}}', "prints an object nvbandwidth with testcases"),
        ("nvbandwidth Version: v0.8\n", "words of p2pBandwidthLatencyTest or nvbandwidth, and no table"),
    ],
)
def test_what_is_not_whole_is_refused(text, why):
    assert why in is_my_number_good(text).refused


def test_what_a_cut_took_away_is_no_fault():
    """The last cell's digits, the last GPU's links."""
    rows = [[0.0 if one == other else 276.24 for other in range(8)] for one in range(8)]
    table = "".join(
        f" {n}    " + "  ".join(f"{rate:.2f}" if rate else "N/A" for rate in row) + "\n" for n, row in enumerate(rows)
    )
    head = "Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
    text = f"{head}      {'  '.join(map(str, range(8)))}\n{table}"
    text = text.replace("N/A\n", "276.24\n").replace(" 7    276.24", " 7    N/A   ")
    links = "".join(
        f"GPU {gpu}: NVIDIA A100 (UUID: GPU-{gpu})\n" + "".join(f"\t Link {n}: 25 GB/s\n" for n in range(12))
        for gpu in range(2)
    )
    for whole in (text, links):
        assert is_my_number_good(whole).accused == ()
        for end in range(len(whole) // 2, len(whole)):
            assert (
                "slow pair" not in (found := is_my_number_good(whole[:end])).accused
                and "links off" not in found.accused
            )


def test_what_is_damaged_is_refused_or_judged():
    """Never an error of our own, whatever was cut, lost, doubled or put in."""
    lines = [line for text, _ in CASES.values() for line in f"{text}\n".split("\n")]
    found = [is_my_number_good(text) for text in damaged(lines, 30, 1500, window=60)]
    assert {"machine", "refused"} <= {one.kind for one in found} and all(str(one) for one in found)


def test_a_told_machine_tells_its_slot():
    assert is_my_number_good(CASES["nvbandwidth: all slots, of a machine that is not told"][0], "HGX-H100").accused == (
        "narrow slot",
    )
