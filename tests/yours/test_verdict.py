"""Is my number good? Ten faults, each with its cause first or its refusal; and no healthy table accused."""

import base64
import json
import os
import pickle
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from made_tables import run, times

from helpers.facts import MACHINES, public
from helpers.nccl import nccl_tests_tables, parse_debug_log, parse_flight_recorder, parse_topo
from helpers.units import MIB
from helpers.yours import is_my_number_good
from helpers.yours.causes import KINDS
from helpers.yours.tables.printing import printed, without
from helpers.yours.tables.published import published

REAL = Path(__file__).parents[1] / "nccl" / "output"
GLOO = json.loads((REAL / "logs" / "gloo-skip.json").read_text())
PICKLES = [base64.b64decode(text) for text in json.loads((REAL / "logs" / "gloo-skip-pickles.json").read_text())]
EFA = (REAL / "tables" / "efa-all_reduce.txt").read_text()
MANY = [one for one in published() if len(one.points) > 1 and one.nodes == 1]
HOST_BOUND = [one for one in MANY if "2.26.2" in one.title]  # one process for four GPUs, and Python


def first(verdict):
    return verdict.accused[0] if verdict.accused else None


def real(name):
    return (REAL / "tables" / f"{name}.txt").read_text()


def as_two_nodes(least):
    """The real table of two nodes, as slow as `least` seconds say at each size."""
    (table,) = nccl_tests_tables(EFA)
    made = {row.nbytes: max(row.out_of_place.seconds, least(row.nbytes)) for row in table.rows}
    return printed("H100", "all_reduce", 16, "2.27.7", made, hosts=2)


def test_the_path_all_bytes_over_pcie():
    """Eight H200 whose large sizes take what 63 GB/s, a slot of PCIe 5, let through at three quarters."""
    rate = 0.75 * MACHINES["HGX-H200"].inside.value * 63.02 / 450
    slow = {n: max(took, n * 1.75 / rate) for n, took in times(run("H200")).items()}
    found = is_my_number_good(printed("H200", "all_reduce", 8, "2.29.2", slow))
    assert first(found) == "wrong path" and "PCIe slot" in found.causes[0].why
    assert found.plateau_share < 0.15


def test_two_of_eight_network_cards():
    """In two nodes of eight, bytes that two ports carry in place of eight: a quarter of the real rate."""
    fast = max(row.out_of_place.algbw for row in nccl_tests_tables(EFA)[0].rows)
    found = is_my_number_good(as_two_nodes(lambda nbytes: nbytes / (fast / 4)), "2x8-IB")
    assert first(found) == "too few NICs" and "about what 2 of 8 ports" in found.causes[0].why
    assert is_my_number_good(EFA, "2x8-IB").accused == ()


def test_sockets_between_nodes():
    found = is_my_number_good(as_two_nodes(lambda nbytes: nbytes / 5e9), "2x8-IB")
    assert first(found) == "wrong path" and "sockets" in found.causes[0].why
    assert first(is_my_number_good(real("deepops-roce-all_reduce"), "2x8-IB")) == "wrong path"


@pytest.mark.parametrize(
    ("machine", "nranks", "version"),
    [("HGX-H100", 4, "2.29.2"), ("HGX-B200", 4, "2.28.9"), ("DGX-A100", 8, "2.27.3"), ("HGX-H200", 4, "2.29.2")],
)
def test_ll128_left_out(machine, nranks, version):
    gpu = MACHINES[machine].accelerator
    healthy = times(run(gpu, nranks=nranks, version=version))
    slow = without(healthy, "all_reduce", MACHINES[machine], nranks, version, lambda one: one.protocol != "LL128")
    found = is_my_number_good(printed(gpu, "all_reduce", nranks, version, slow))
    assert first(found) == "LL128 off", str(found)
    unknown = printed(gpu, "all_reduce", nranks, "2.12.7", slow)
    found = is_my_number_good(
        unknown
    )  # of that version no rules are known here, and its largest sizes are those of others
    assert found.plateau_share > 0.95 and "LL128 off" not in [one.name for one in found.causes]


@pytest.mark.parametrize("gpu", ["H100", "H200", "B200"])
def test_the_switch_does_not_add(gpu):
    """Real rows are those of 8 GiB with NCCL_NVLS_ENABLE=0; a whole curve is the published one with the ring in NVLS's place."""
    machine = MACHINES[f"HGX-{gpu}"]
    slow = without(
        times(run(gpu)), "all_reduce", machine, 8, "2.29.2", lambda one: not one.algorithm.startswith("NVLS")
    )
    rows = [row for row in public("nccl-tests-h200-b200-nvls").rows if (row["gpu"], row["nranks"]) == (gpu, 8)]
    slow |= {row["nbytes"]: row["nbytes"] * 1.75 / (row["busbw_nvls_off"] * 1e9) for row in rows}
    found = is_my_number_good(printed(gpu, "all_reduce", 8, "2.29.2", slow))
    assert first(found) == "NVLS off", str(found)
    assert "ring" in found.causes[0].why and found.causes[0].chapter == "inside-nccl"


def test_on_four_gpus_the_switch_is_a_remark():
    found = is_my_number_good(printed("H200", "all_reduce", 4, "2.27.7", times(run("H200", nranks=4))))
    assert found.accused == () and found.causes[0].name == "NVLS not worth it"


def test_the_host_starts_too_slowly():
    """Every call takes 60 µs at least."""
    slow = {nbytes: max(took, 60e-6) for nbytes, took in times(run("H100")).items()}
    found = is_my_number_good(printed("H100", "all_reduce", 8, "2.29.2", slow))
    assert first(found) == "host-bound" and "60 µs" in found.causes[0].why
    usual = printed("A100", "all_gather", 8, "2.27.3", {2**n: max(34e-6, 2**n / 240e9) for n in range(10, 33)})
    found = is_my_number_good(
        usual[usual.index("# Collective") :].replace("nGpus 1 ", "nGpus 8 ")
    )  # of an unknown version
    assert found.accused == () and "one thread starts 8 GPUs" in found.causes[0].why
    assert first(is_my_number_good(real("article-4xh100-all_reduce"))) == "host-bound"


@pytest.mark.parametrize(("last", "accused"), [(24, ()), (30, ("slow link",))])
def test_far_below_the_model_is_a_slow_link_where_the_model_holds(last, accused):
    slow = {2**n: 24e-6 + 2**n / 140e9 for n in range(12, last + 1)}
    text = printed("A100", "broadcast", 8, "2.27.3", slow).replace("     sum      -1", "    none       0")
    found = is_my_number_good(text)
    assert found.plateau_share < 0.7 and found.accused == accused


@pytest.mark.parametrize("text", ["# Avg bus bandwidth    : 98.414 ", "98.4 GB/s", "98.414"])
def test_an_average_quoted(text):
    found = is_my_number_good(text)
    assert (found.kind, first(found)) == ("nccl-tests", "average") and "98.4 GB/s" in found.sentence


def test_an_average_below_a_table_is_a_remark():
    found = is_my_number_good(real("superbench-8xa100-alltoall"))
    assert found.causes[-1].name == "average" and not found.causes[-1].accuses and "26%" in found.causes[-1].why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("hello", "nothing that is known here"),
        ("", "nothing that is known here"),
        (b"\xff\xfe\x00", "nothing that is known here"),
        ("size,time\n8,1\n", "nothing that is known here"),
        (real("two-ranks-0-mixed"), "rank 0 was named in line 7 already"),
        (real("article-4xh100-all_reduce").replace("355.89", "395.89"), "line "),
        ((REAL / "topologies" / "8xa100-overwritten.txt").read_text(), "got 'PH0-115'"),
        ("{}", "this is no report of nccl-tests -J"),
    ],
)
def test_a_foreign_or_damaged_text_is_refused(text, why):
    found = is_my_number_good(text)
    assert found.kind == "refused" and why in found.refused and str(found).startswith("refused: ")


def test_a_truncated_log():
    text = (REAL / "logs" / "nccl-2.27.5-roce-gdrdma.txt").read_text()
    assert is_my_number_good(text).accused == ()
    end = text.index("Init COMPLETE") - 20
    found = is_my_number_good(text[:end])
    assert (found.kind, first(found)) == ("log", "truncated log")


def test_a_rank_is_missing_in_the_dumps():
    found = is_my_number_good(GLOO[:3])
    assert first(found) == "no dump" and "no dump of rank 3" in found.sentence
    where = is_my_number_good(GLOO)
    assert "wait in all_reduce #5 of group '0', record_flight.py line " in where.sentence
    assert "rank 3 has not come; the last of rank 3 is barrier #4" in where.sentence and len(where.lines) == 5
    both = is_my_number_good({rank: PICKLES[rank] for rank in (0, 1, 3)})
    assert both.accused == ("missing rank", "no dump") and "rank 3 has not come" in both.sentence


@pytest.mark.parametrize("thing", [os.system, Path(), MACHINES["HGX-H100"]])
def test_a_pickle_with_a_function_or_a_class(thing):
    found = is_my_number_good(pickle.dumps(thing))
    assert found.kind == "refused" and "holds data only" in found.refused
    dump = pickle.dumps({"pg_config": {}, "version": "2.10", "entries": [thing]})
    assert "holds data only" in is_my_number_good(dump).refused


@pytest.mark.parametrize("one", MANY, ids=lambda one: one.title)
def test_no_healthy_table_is_accused(one):
    text = printed(one.gpu, one.collective, one.nranks, one.version or "2.27.7", times(one))
    found = is_my_number_good(text)
    assert found.kind == "nccl-tests", found.refused
    assert found.accused == (("host-bound",) if one in HOST_BOUND else ()), str(found)
    assert found.plateau_share > 0.95 and found.nearest[0].typical == pytest.approx(1, rel=0.3)


def test_there_are_as_many_as_were_published():
    assert len([one for one in MANY if one.gpu != "L40S"]) == 72 + 4


@pytest.mark.parametrize("path", sorted(REAL.glob("t*/*.txt")), ids=lambda path: path.stem)
@pytest.mark.parametrize("machine", [None, "HGX-H100", "2x8-IB"])
def test_every_real_text_gets_a_verdict(path, machine):
    found = is_my_number_good(path.read_text(), machine)
    json.dumps(found.as_json())
    assert str(found) and all(one.name in KINDS and one.why and one.command for one in found.causes)


def test_objects_are_taken_as_their_texts():
    for name, parse in (("tables/a3mega-16xh100-all_reduce", lambda text: nccl_tests_tables(text)[0]),):
        text = (REAL / f"{name}.txt").read_text()
        assert is_my_number_good(parse(text)) == is_my_number_good(text)
    topology, log = ((REAL / name).read_text() for name in ("topologies/8xh100-8-nics.txt", "logs/nccl-2.28.9-shm.txt"))
    assert is_my_number_good(parse_topo(topology)) == is_my_number_good(topology)
    assert is_my_number_good(parse_debug_log(log)) == is_my_number_good(log)
    assert is_my_number_good(parse_flight_recorder(GLOO)) == is_my_number_good(GLOO)
    assert is_my_number_good(PICKLES).accused == is_my_number_good(GLOO).accused == ("missing rank",)
    with pytest.raises(KeyError, match="no machine 'HGX-H99'"):
        is_my_number_good("98.4", "HGX-H99")
    with pytest.raises(TypeError, match="got int"):
        is_my_number_good(98)


def test_a_machine_that_can_not_have_made_the_table():
    found = is_my_number_good(real("article-4xh100-all_reduce"), "HGX-B200")
    assert "was made on H100" in found.refused
    assert "has 8 GPUs" in is_my_number_good(EFA, "8xL40S").refused
    assert (
        "has 16 GPUs" in is_my_number_good(printed("H100", "all_reduce", 32, "2.27.7", {2**30: 0.01}), "2x8-IB").refused
    )


def test_a_result_of_our_own_bench():
    rows = [SimpleNamespace(**point._asdict()) for point in run("H200").points]
    result = SimpleNamespace(
        rows=[*rows, SimpleNamespace(nbytes=8, seconds=None, busbw=None)], collective="all_reduce", nranks=8
    )
    found = is_my_number_good(result, "HGX-H200")
    assert found.points == run("H200").points and found.plateau_share == 1 and found.accused == ()
    result.rows = result.rows[-1:]
    assert "no size with bytes and a time" in is_my_number_good(result).refused


def segment(address, *blocks):
    """As torch writes one: (size, live)."""
    total = sum(size for size, _ in blocks)
    made = [{"size": size, "state": "active_allocated" if live else "inactive", "frames": []} for size, live in blocks]
    about = {"device": 0, "address": address, "total_size": total, "segment_type": "large", "stream": 0, "frames": []}
    return about | {"blocks": made, "is_expandable": False}


def test_a_snapshot_with_holes():
    holes = [segment(place << 30, (24 * MIB, True), (40 * MIB, False)) for place in range(4)]
    found = is_my_number_good(pickle.dumps({"segments": holes, "device_traces": [[]]}))
    assert (found.kind, found.accused) == ("snapshot", ("fragmentation",))
    assert "160 MiB of 256 MiB are reserved and free, in 4 pieces" in found.causes[0].why
    full = is_my_number_good(pickle.dumps([segment(1 << 30, (64 * MIB, True))]))
    assert full.accused == () and "64 MiB reserved, 64 MiB of it in use" in full.sentence


@pytest.mark.parametrize(
    ("setting", "cause"),
    [
        ("NCCL_P2P_DISABLE set by environment to 1.", "wrong path"),
        ("NCCL_MAX_CTAS set by environment to 2.", "few channels"),
        ("NCCL_NVLS_ENABLE set by environment to 0.", "NVLS off"),
        ("NCCL_PROTO set by environment to Simple", "LL128 off"),
        ("NCCL_PROTO set by environment to ^LL128", "LL128 off"),
        ("NCCL_ALGO set by environment to Ring", "NVLS off"),
        ("NCCL_ALGO set by environment to allreduce:tree", None),
        ("NCCL_PROTO set by environment to ^LL", None),
        ("NCCL_IB_DISABLE set by environment to 1.", None),  # on one node nothing is lost
        ("Channel 00 : 0[0] -> 1[0] [send] via NET/Socket/0", "wrong path"),
        ("Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0", "wrong path"),
        ("Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA", None),
    ],
)
def test_a_log_tells_what_was_set(setting, cause):
    assert first(is_my_number_good(f"node1:10:20 [0] NCCL INFO {setting}\n")) == cause


def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    code = re.search(r"```python\n(.*?)```", (Path(__file__).parents[2] / "book" / "yours.md").read_text(), re.S)[1]
    (tmp_path / "mine.txt").write_text(printed("H200", "all_reduce", 8, "2.29.2", times(run("H200"))))
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    said = capsys.readouterr().out
    assert "100% of 460 GB/s" in said and said.endswith("()\n")
