"""Machines whose GPU and processor are one (NVLink-C2C) are not accused of a far card; machines that are not, are."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.yours import is_my_number_good

GRACE = (Path(__file__).parents[1] / "faults" / "08-grace-topo.txt").read_text()
HEAD = "CPU Affinity\tNUMA Affinity\tGPU NUMA ID"


def matrix(gpus, nics, word, tail, links="NV18"):
    """As nvidia-smi prints it. word: between a GPU and a card, by their numbers. tail: what stands behind a GPU's ways."""
    names = [f"GPU{n}" for n in range(gpus)] + [f"NIC{n}" for n in range(nics)]
    rows = ["\t" + "\t".join([*names, HEAD])]
    for at, name in enumerate(names):
        cells = []
        for to in range(len(names)):
            gpu, nic = min(at, to), max(at, to) - gpus
            way = links if nic < 0 else word(gpu, nic) if gpu < gpus else word(0, 0)
            cells.append(" X " if at == to else way)
        rows.append("\t".join([name, *cells, tail(at) if at < gpus else "\t\t\t"]))
    return "\n".join(rows) + "\n"


def grace(gpus=4, nics=4, word="NODE", own="N/A"):
    def tail(gpu):
        first = 72 * (2 * gpu // max(gpus, 2))
        return f"{first}-{first + 71}\t{2 * gpu // max(gpus, 2)}\t\t{own if own == 'N/A' else 2 + 8 * gpu}"

    return matrix(gpus, nics, lambda gpu, nic: word if gpu // 2 == nic // 2 else "SYS", tail)


def intel(word="NODE", tail="0-47,96-143\t0\t\tN/A"):
    return matrix(8, 2, lambda gpu, nic: word, lambda gpu: tail)


VARIANTS = {
    "a node of GB200, its driver tells no own NUMA node": grace(),
    "a node of GB200 with own NUMA nodes": grace(own="number"),
    "two GPUs of a GH200 board": grace(gpus=2, nics=2, own="number"),
    "one GH200": grace(gpus=1, nics=1, own="number"),
    "the host's tree is flat": grace(word="PHB", own="number"),
    "underlined head": grace(own="number")
    .replace("\tGPU0", "\x1b[4m\tGPU0", 1)
    .replace("GPU NUMA ID", "GPU NUMA ID\x1b[0m"),
    "what a page leaves of the underline": grace(own="number")
    .replace("\tGPU0", "[4m\tGPU0", 1)
    .replace("GPU NUMA ID", "GPU NUMA ID[0m"),
    "blanks in place of tabs": grace(own="number").expandtabs(8),
    "a virtual machine whose last GPUs have no processor": grace().replace("72-143\t1\t\tN/A", "\t1\t\tN/A"),
    "with nvidia-smi c2c -s": grace() + "GPU 0: NVIDIA (UUID: GPU-0)\n\t C2C Link 0: 44.712 GB/s\n",
    "two trays": grace(own="number") * 2,
    "rows of GPUs alone": "\n".join(line for line in grace(own="number").split("\n") if not line.startswith("NIC")),
    "the driver tells nothing, nvidia-smi stands above": "| 0  NVIDIA GB300 ... |\n"
    + grace().replace("0-71", "0-143").replace("72-143", "0-143"),
    "rows behind a host's name": "\n".join(f"tray-3: {line}" for line in grace(own="number").split("\n")),
}


@pytest.mark.parametrize("text", [GRACE, *VARIANTS.values()], ids=["the fault", *VARIANTS])
def test_no_card_is_far_where_c2c_joins_gpu_and_processor(text):
    found = is_my_number_good(text)
    assert not found.refused and found.kind == "topology" and found.accused == ()
    assert found.sentence.endswith("Nothing in it accuses the machine.")


def test_the_sentence_says_why():
    assert "GPU and processor are one here (NVLink-C2C)" in is_my_number_good(GRACE).sentence
    assert is_my_number_good(grace(), "GB200-NVL72").causes == ()  # told, and not by the text
    unsure = is_my_number_good(grace())
    assert [(one.name, one.accuses) for one in unsure.causes] == [
        ("far NIC", False)
    ] and "nvidia-smi c2c -s" in unsure.causes[0].why


@pytest.mark.parametrize("word", ["NODE", "SYS", "PHB"])
def test_elsewhere_a_far_card_is_accused(word):
    found = is_my_number_good(intel(word))
    accused = word != "PHB"  # all of a virtual machine is as far from each other
    assert (found.accused == ("far NIC",)) == accused and found.causes[0].repair == "far-nic"


@pytest.mark.parametrize(("word", "told"), [("PIX", ()), ("PXB", ())])
def test_a_card_behind_a_switch_is_near(word, told):
    assert is_my_number_good(intel(word)).accused == told


def test_a_neighbour_by_nvlink_relays():
    text = matrix(8, 1, lambda gpu, nic: "PIX" if gpu == 0 else "SYS", lambda gpu: "0-55\t0\t\tN/A")
    found = is_my_number_good(text)
    assert found.accused == () and "(PXN)" in found.causes[0].why
    slots = text.replace("NV18", "SYS")  # no NVLink, no relay
    assert "far NIC" in is_my_number_good(slots).accused


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_line_that_a_terminal_broke_is_one(width):
    whole = intel().expandtabs(8).split("\n")
    broken = []
    for line in whole:
        words = line.split()
        kept, start = " ".join(words), 0
        while len(kept) - start > width and (cut := kept.rfind(" ", start, start + width)) > start:
            broken.append(kept[start:cut])
            start = cut + 1
        broken.append(kept[start:])
    assert len(broken) > len(whole)
    assert is_my_number_good("\n".join(broken)) == is_my_number_good(intel())


def test_columns_that_a_terminal_pushed_together_and_rows_without_a_head():
    text = intel()
    assert is_my_number_good(text.replace("NODE\tNODE", "NODENODE")) == is_my_number_good(text)
    assert is_my_number_good(text.split("\n", 1)[1]).what == is_my_number_good(text).what


@pytest.mark.parametrize(
    ("links", "gpus", "staged"), [("PIX", 4, 0), ("PXB", 8, 0), ("PHB", 2, 1), ("NODE", 4, 1), ("SYS", 8, 1)]
)
def test_a_machine_without_links_is_told_what_nccl_does_there(links, gpus, staged):
    found = is_my_number_good(matrix(gpus, 0, None, lambda gpu: "0-31\t0\t\tN/A", links))
    assert found.accused == () and ("through memory of the host" in found.causes[0].why) == staged


def test_matrices_of_several_machines_are_told_apart():
    three = intel("PIX") + "\n" + intel("PIX") + "\n" + intel("SYS")
    found = is_my_number_good(three)
    assert found.what.startswith("2 times a machine of 8 GPUs") and "; and a machine of 8 GPUs" in found.what
    assert found.accused == ("far NIC",) and is_my_number_good(intel("PIX") * 2).accused == ()


def states(word, gpus=4, pair=(1, 2)):
    names = [f"GPU{n}" for n in range(gpus)]
    rows = [[" " + one, *("X" if one == to else "OK" for to in names)] for one in names]
    rows[pair[0]][1 + pair[1]] = rows[pair[1]][1 + pair[0]] = word
    return (
        "\n".join("\t".join(row) for row in [[" ", *names, ""], *rows])
        + "\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n"
    )


@pytest.mark.parametrize("word", ["OK", "CNS", "GNS", "TNS", "NS", "DR", "U"])
def test_which_gpu_reaches_which(word):
    found = is_my_number_good(states(word))
    assert found.kind == "topology" and found.accused == (() if word == "OK" else ("no P2P",))
    assert word == "OK" or (
        f"between GPU1 and GPU2 stands {word}" in found.causes[0].why and found.causes[0].repair == "p2p"
    )
    both = is_my_number_good(intel("PIX") + "\n" + states(word, 8))
    assert both.accused == found.accused and both.what.count("from nvidia-smi topo") == 2


@pytest.mark.parametrize(
    ("pair", "accused"), [(lambda at, to: at // 4 == to // 4, ()), (lambda at, to: False, ("no P2P",))]
)
def test_groups_are_no_fault(pair, accused):
    text = states("OK", 8)
    rows = text.split("\n")
    for at in range(8):
        cells = ["X" if at == to else "OK" if pair(at, to) else "CNS" for to in range(8)]
        rows[at + 1] = "\t".join([f" GPU{at}", *cells])
    found = is_my_number_good("\n".join(rows))
    assert found.accused == accused and found.causes[0].name == "no P2P"


def test_a_word_that_is_none_is_refused_with_its_line():
    assert (
        "between two GPUs stands OK, CNS" in is_my_number_good(states("OK").replace("OK\tOK\n", "OK\tYES\n", 1)).refused
    )
