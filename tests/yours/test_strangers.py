"""What strangers paste: without its head, of GPUs that nobody here knows, from several hosts, too little, too much at once."""

from __future__ import annotations

import pytest
from made_tables import run, times

from helpers.yours import is_my_number_good
from helpers.yours.tables.printing import printed

HEALTHY = printed("H200", "all_reduce", 8, "2.29.2", times(run("H200")))
SIZES = [2**n for n in range(10, 31)]
# Two DGX Spark, from github.com/NVIDIA/dgx-spark-playbooks/pull/103.
SPARK = """\
# nccl-tests version 2.20.0 (b4d5bee) nccl-headers=23102 nccl-library=23102
# Collective test starting: all_reduce_perf
# Using devices
#  Rank  0 Group  0 Pid 1666603 on spark-d708 device  0 [000f:01:00] NVIDIA GB10
#  Rank  1 Group  0 Pid 1669515 on spark-dbf4 device  0 [000f:01:00] NVIDIA GB10
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
        8192          2048     float     sum      -1    35.15    0.23    0.23       0    30.33    0.27    0.27       0
       65536         16384     float     sum      -1    67.93    0.96    0.96       0    64.71    1.01    1.01       0
"""


def straight(start, rate):
    """Times of a start and a rate."""
    return {nbytes: start + nbytes / rate for nbytes in SIZES}


def test_of_several_tables_each_kind_is_judged():
    other = printed("H200", "reduce_scatter", 8, "2.29.2", times(run("H200", "reduce_scatter")))
    found, alone = is_my_number_good(HEALTHY + other), is_my_number_good(HEALTHY)
    assert f"{alone.what}; and reduce_scatter over 8 ranks" in found.what
    assert (
        f"all_reduce over 8 ranks: {alone.sentence.removesuffix(alone.sentence[alone.sentence.index(' Nothing') :])}"
        in found.sentence
    )
    assert "reduce_scatter over 8 ranks: The best is" in found.sentence and found.accused == ()


def test_gpus_that_are_not_known_are_named():
    found = is_my_number_good(SPARK.replace("NVIDIA GB10", "NVIDIA Unheard 9"))
    assert found.causes[0].name == "no machine"
    assert "the GPUs were NVIDIA Unheard 9, and no machine with such GPUs" in found.causes[0].why
    assert found.nearest == ()  # what is published is of one node
    bare = is_my_number_good("\n".join(line for line in SPARK.split("\n") if "Rank" not in line))
    assert "does not say which GPUs these were" in bare.causes[0].why and bare.nearest


def test_between_nodes_commands_start_by_mpirun():
    text = printed("H100", "reduce_scatter", 16, "2.27.7", straight(60e-6, 45e9), hosts=2)
    found = is_my_number_good(text, "2x8-IB")
    cause = found.causes[0]
    assert cause.name == "too few NICs" and "without GPUDirect RDMA look alike" in cause.why
    assert cause.command.startswith(
        "mpirun -np 16 -N 8 -x NCCL_DEBUG=INFO -x NCCL_DEBUG_SUBSYS=INIT,GRAPH,NET ./build/"
    )
    assert "-f 2 -g 1 2>&1" in cause.command
    listless = "\n".join(line for line in text.split("\n") if "Rank" not in line)
    assert is_my_number_good(listless, "2x8-IB").causes[0].command == cause.command
    network = is_my_number_good(text).causes[0]
    assert network.name == "no network" and "ibstat" in network.command and "its 2 nodes" in network.why


def test_a_part_of_each_node_is_held_against_its_part_of_the_ports():
    """Two ranks on two hosts pass the network, although two GPUs of one node would not."""
    text = printed("H100", "all_reduce", 2, "2.27.7", straight(30e-6, 40e9), hosts=2)
    for machine in ("2x8-IB", "HGX-H100"):
        found = is_my_number_good(text, machine)
        assert (found.line_rate, found.accused, found.refused) == (50e9, (), "")
    alone = is_my_number_good(text)
    assert alone.accused == () and alone.nearest == () and alone.line_rate is None


def test_a_longer_path_is_not_a_slow_processor():
    """Without NVLink the start is longer, too: only the path is accused."""
    found = is_my_number_good(printed("H200", "all_gather", 8, "2.29.2", straight(30e-6, 20e9)))
    assert found.accused == ("wrong path",)


@pytest.mark.parametrize(("rate", "accused"), [(20e9, ("wrong path",)), (300e9, ())])
def test_sendrecv_has_no_plateau_and_still_a_slot(rate, accused):
    found = is_my_number_good(printed("H200", "sendrecv", 8, "2.29.2", straight(30e-6, rate)))
    assert found.plateau is None and found.accused == accused
    assert not accused or "4% of the one-way line rate: no more than a PCIe slot passes" in found.causes[0].why


@pytest.mark.parametrize(("rate", "accuses"), [(11e9, False), (3e9, True)])
def test_over_pcie_a_little_less_is_a_remark(rate, accuses):
    found = is_my_number_good(printed("L40S", "all_reduce", 2, "2.27.7", straight(20e-6, rate)))
    assert (found.causes[0].name, found.causes[0].accuses) == ("wrong path", accuses)


def test_a_log_of_two_lines_is_too_little():
    text = "[1,1]<stdout>:gpu6:1408:1597 [1] NCCL INFO NET/IB : Using [0]mlx5_18:1/RoCE ; OOB :\n"
    assert is_my_number_good(text).sentence.endswith("That is too little to judge a machine by.")


def test_no_verdict_has_brackets_in_brackets():
    for gpu in ("H200", "B200", "A100"):
        text = printed(gpu, "all_reduce", 8, "2.27.7", {2**33: 0.05})
        assert "))" not in is_my_number_good(text).sentence
    assert ", by torch" in str(is_my_number_good(HEALTHY))


def test_a_time_too_long_for_its_column_is_printed_as_nccl_tests_does():
    found = is_my_number_good(printed("L40S", "all_reduce", 2, "2.27.7", {2**33: 17.2}))
    assert found.points[0].seconds == pytest.approx(17.2, rel=0.05)


def test_half_of_what_is_published_is_a_fault_whatever_explains_it():
    """Without a version nobody knows which protocols it has; but so far off no machine is well."""
    seconds = {2**n: 20e-6 + 2**n * 1.75 / 240e9 for n in range(10, 34)}
    text = printed("H100", "all_reduce", 8, "2.29.2", seconds)
    found = is_my_number_good("\n".join(line for line in text.split("\n") if "nccl-library" not in line))
    assert found.plateau_share < 0.6 and found.accused == ("only LL",)
