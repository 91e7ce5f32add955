"""Dumps of the flight recorder: four Gloo ranks for real, NCCL's played, damaged ones, and pickles that ask for more than data."""

import base64
import copy
import json
import os
import pickle
import random
from functools import partial
from pathlib import Path

import damage
import pytest

from helpers.memory.snapshot import SnapshotError
from helpers.memory.snapshot import read as read_snapshot
from helpers.nccl import FlightRecorderError, parse_flight_recorder
from helpers.plain_pickle import NotPlain, check_depth, load_plain

REAL = Path(__file__).parent / "logs"
GLOO = json.loads((REAL / "gloo-skip.json").read_text())
PICKLES = [base64.b64decode(text) for text in json.loads((REAL / "gloo-skip-pickles.json").read_text())]


def entry(record, number, state="completed", op="all_reduce", size=(4,), group="0", backend="nccl", **more):
    """As torch 2.13 writes an operation on a GPU."""
    ended = 7 if state == "completed" else None
    made = {
        "record_id": record,
        "pg_id": 0,
        "process_group": (group, "default_pg"),
        "collective_seq_id": number,
        "p2p_seq_id": 0,
        "op_id": number,
        "profiling_name": f"{backend}:{op}",
        "input_sizes": [list(size)],
        "input_dtypes": ["Float"],
        "state": state,
        "time_discovered_completed_ns": ended,
        "retired": False,
        "is_p2p": False,
    }
    return made | more


def dump(*entries, ranks="[0, 1, 2]", **more):
    groups = {"0": {"name": "0", "desc": "default_pg", "ranks": ranks}}
    return {"version": "2.10", "pg_config": groups, "pg_status": {}, "entries": list(entries)} | more


def test_four_gloo_ranks_of_which_one_leaves_a_collective_out():
    record = parse_flight_recorder(GLOO)
    assert record.groups == {"0": (0, 1, 2, 3)} and record.absent == ()
    assert [record.completed(rank).op for rank in range(4)] == ["barrier"] * 4
    assert [[one.number for one in record.pending(rank)] for rank in range(4)] == [[5], [5], [5], []]
    (unmet,) = record.unmet()
    assert unmet == ("0", 5, "all_reduce", (0, 1, 2), (3,), ())
    assert record.disagreements() == ()
    assert record.pending(0)[0].where.startswith("record_flight.py line ")
    assert "rank 3: in no operation, after barrier #4" in str(record)


def test_the_pickles_say_the_same_and_so_does_json():
    there = parse_flight_recorder(GLOO)
    for dumps in (PICKLES, dict(enumerate(PICKLES)), [json.dumps(one) for one in GLOO]):
        record = parse_flight_recorder(dumps)
        assert record.unmet() == there.unmet()
        assert [one[:-1] for one in record.operations(1)] == [one[:-1] for one in there.operations(1)]


def test_gloo_forgets_its_ranks_when_a_second_group_is_made():
    """Its one nameless entry is empty then: whose the operations are is read from who was in them."""
    emptied = [one | {"pg_config": {"": {"name": "", "desc": "", "ranks": "[]"}}} for one in GLOO]
    record = parse_flight_recorder(emptied)
    assert record.groups == {} and record.members("0") == (0, 1, 2, 3)
    assert record.unmet() == parse_flight_recorder(GLOO).unmet()
    with pytest.raises(FlightRecorderError, match=r"pg_config of '0': ranks '\[\]'"):
        parse_flight_recorder([dump(ranks="[]")])


def test_a_rank_without_a_dump_is_not_accused():
    record = parse_flight_recorder({rank: GLOO[rank] for rank in (0, 1, 3)})
    assert record.absent == (2,)
    assert record.unmet()[0][3:] == ((0, 1), (3,), (2,))
    assert parse_flight_recorder(GLOO[:3]).unmet()[0][4:] == ((), (3,))


def test_a_dump_of_an_nccl_group():
    record = parse_flight_recorder([(REAL / "nccl-dump-2.5.json").read_text()])
    assert (record.dumps[0].version, record.groups, record.absent) == ("2.5", {"0": (0, 1)}, (1,))
    (one,) = record.operations(0)
    assert (one.backend, one.op, one.number, one.state, one.sizes, one.dtypes, one.where) == (
        *("nccl", "all_reduce", 1, "completed", ((3, 4),), ("Float",)),
        "test_c10d_nccl.py line 3647",
    )


def test_the_fault_that_torchs_own_tutorial_plants():
    """Rank 0 does one all_reduce more, of another size, than rank 1: its tutorial says "missing ranks: {1}" of collective 5."""
    mine = [
        entry(0, 1),
        entry(1, 2),
        entry(2, 3, "started", size=(4, 5)),
        entry(3, 4, "scheduled"),
        entry(4, 5, "scheduled"),
    ]
    theirs = [entry(0, 1), entry(1, 2), entry(2, 3, "started"), entry(3, 4, "scheduled")]
    record = parse_flight_recorder([dump(*mine, ranks="[0, 1]"), dump(*theirs, ranks="[0, 1]")])
    assert [(u.number, u.missing) for u in record.unmet()] == [(5, (1,))]
    (d,) = record.disagreements()
    assert (d.number, d.calls) == (3, {("all_reduce", "Float[20]"): (0,), ("all_reduce", "Float[4]"): (1,)})


def test_nccl_ranks_that_wait_and_one_that_is_behind():
    waits = dump(entry(0, 1), entry(1, 2, "started"), entry(2, 3, "scheduled"))
    record = parse_flight_recorder([waits, waits, dump(entry(0, 1))])
    assert [(u.number, u.entered, u.missing) for u in record.unmet()] == [(2, (0, 1), (2,)), (3, (0, 1), (2,))]
    assert record.completed(2).number == 1


def test_what_the_recorder_has_overwritten_is_not_known():
    late = dump(entry(40, 9, op="broadcast", group="1"))
    record = parse_flight_recorder([dump(entry(0, 5, "scheduled")), late, dump(entry(90, 4))])
    (unmet,) = record.unmet()
    assert (unmet.entered, unmet.missing, unmet.unknown) == ((0,), (2,), (1,))


def test_other_operations_sizes_and_types_under_one_number():
    mine, short = dump(entry(0, 1, "started")), dump(entry(0, 1, "started", size=(2,)))
    other = dump(entry(0, 1, "started", op="broadcast"))
    (d,) = parse_flight_recorder([mine, mine, short]).disagreements()
    assert d.calls == {("all_reduce", "Float[4]"): (0, 1), ("all_reduce", "Float[2]"): (2,)}
    (d,) = parse_flight_recorder([mine, other, mine]).disagreements()
    assert d.calls == {("all_reduce", "Float[4]"): (0, 2), ("broadcast", "Float[4]"): (1,)}
    gathers = [dump(entry(0, 1, op="all_gather", size=(n,))) for n in (2, 3, 4)]
    assert parse_flight_recorder(gathers).disagreements() == ()  # sizes may differ


def test_a_send_and_a_receive():
    send = entry(0, 0, "started", op="send 0->1", is_p2p=True, p2p_seq_id=1)
    receive = entry(0, 0, "started", op="recv 1<-0", is_p2p=True, p2p_seq_id=1)
    record = parse_flight_recorder([dump(send), dump(receive), dump()])
    assert [(one.op, one.sends, one.peer, one.number) for rank in (0, 1) for one in record.operations(rank)] == [
        ("send", True, 1, 1),
        ("recv", False, 0, 1),
    ]


def test_the_nameless_group_of_gloo_is_the_newest_one():
    """torch 2.14: ranks 0 and 1 made a group of their own after that of all, which is the only one in use."""
    asked = [
        dump(entry(0, 1, "scheduled", backend="gloo"), pg_config=nameless(ranks)) for ranks in ("[0, 1]", "[0, 1]")
    ]
    came = [dump(pg_config=nameless(ranks)) for ranks in ("[0, 1, 2]",)]
    assert parse_flight_recorder(asked + came).unmet()[0][3:5] == ((0, 1), (2,))
    pair = [
        one | {"entries": [entry(0, 1, "scheduled", backend="gloo", process_group=("1", "undefined"))]} for one in asked
    ]
    wide = [one | {"pg_config": nameless("[0, 1, 2, 3]")} for one in pair]
    for dumps in (asked, pair, wide):  # whose ranks they are nobody knows: no one is missing
        assert [told.missing for told in parse_flight_recorder(dumps).unmet()] == []


def nameless(ranks):
    return {"": {"name": "", "desc": "", "ranks": ranks}}


def first(one):
    """The same in version 1.4, torch 2.3: a group has a number, all calls one running number, and types are not kept."""
    gone = ("process_group", "collective_seq_id", "p2p_seq_id", "input_dtypes", "is_p2p")
    rows = [{k: v for k, v in row.items() if k not in gone} | {"seq_id": row["op_id"]} for row in one["entries"]]
    return {"version": "1.4", "pg_config": {0: [0, 1, 2]}, "entries": rows, "nccl_comm_state": {"x": {"rank": "0"}}}


def by_http(one):
    """As JSON: no frames, 0 for a time that is not there, a list that has none left out."""
    rows = [row | {"time_discovered_completed_ns": row["time_discovered_completed_ns"] or 0} for row in one["entries"]]
    return json.dumps(
        {key: value for key, value in one.items() if key != "entries"} | ({"entries": rows} if rows else {})
    )


def hooked(one):
    """torch 2.15 records NCCL by hooks, which write no "started", and a send without its peer."""
    rows = [
        row
        | {
            "profiling_name": row["profiling_name"].replace("nccl:", "nccl-lazy:"),
            "retired": row["state"] == "completed",
        }
        | {"state": "scheduled", "time_discovered_completed_ns": None}
        for row in one["entries"]
    ]
    return one | {"entries": rows}


VERSIONS = {
    "1.4": first,
    "2.0": lambda one: one | {"version": "2.0", "pg_config": {"0": {"name": "0", "desc": "", "ranks": [0, 1, 2]}}},
    "2.4": lambda one: {key: value for key, value in one.items() if key != "pg_status"} | {"version": "2.4"},
    "2.10": lambda one: one | {"comm_lib_version": "2.30.7"},
    "json": by_http,
    "hooks": hooked,
    "printed": str,
    "as documented": lambda one: json.dumps(one | {"comm": "a (b, c)"}).replace(
        '["0", "default_pg"]', '("0", "default_pg",)'
    ),
    "pickle": lambda one: pickle.dumps(one, 2),
}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_versions_shape_says_the_same(version):
    waits, behind = dump(entry(0, 1), entry(1, 2, "scheduled")), dump(entry(0, 1))
    written = VERSIONS[version]
    record = parse_flight_recorder([written(waits), written(waits), written(behind)])
    assert [(u.number, u.op, u.entered, u.missing) for u in record.unmet()] == [(2, "all_reduce", (0, 1), (2,))]
    assert [record.completed(rank).number for rank in range(3)] == [1, 1, 1]
    empty = parse_flight_recorder([written(waits), written(dump()), written(dump())])
    assert [u.missing for u in empty.unmet()] == [(1, 2)]
    sizes = [written(dump(entry(0, 1, "scheduled", size=(n,)))) for n in (4, 2, 4)]
    assert next(d.calls for d in parse_flight_recorder(sizes).disagreements()).keys() >= {
        ("all_reduce", f"{'' if version == '1.4' else 'Float'}[{n}]") for n in (2, 4)
    }


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nccl2:all_reduce", ("nccl2", "all_reduce", None)),
        ("nccl-lazy:reduce_scatter_single", ("nccl-lazy", "reduce_scatter_single", None)),
        ("c10d:all_to_all_single", ("c10d", "all_to_all_single", None)),
        ("gloo:recv 3<-?", ("gloo", "recv", None)),
        ("nccl-lazy:send 0->2", ("nccl-lazy", "send", 2)),
        ("nccl2:send", ("nccl2", "send", None)),
        ("xccl:_broadcast_oop", ("xccl", "_broadcast_oop", None)),
        ("nccl:ALLGATHER_coalesced", ("nccl", "ALLGATHER_coalesced", None)),
    ],
)
def test_names_of_all_backends(name, told):
    sends = told[1] in ("send", "recv")
    row = entry(0, 1, "scheduled", profiling_name=name, is_p2p=sends, p2p_seq_id=int(sends))
    (one,) = parse_flight_recorder([dump(row)]).operations(0)
    assert (one.backend, one.op, one.peer) == told and one.p2p is sends


def test_what_was_retired_on_a_gpu_may_have_run_out_of_time():
    for backend, over in (("nccl", False), ("xccl", False), ("nccl2", True), ("gloo", True)):
        (one,) = parse_flight_recorder([dump(entry(0, 1, "scheduled", backend=backend, retired=True))]).operations(0)
        assert one.pending is not over


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (dump(version="3.0"), "version '3.0' of the dump, expected 1.0 to 2.10 or a later 2"),
        (dump(version=2.1), "version of type float"),
        (dump(pg_config={True: [0]}), "expected texts as names of groups"),
        (dump(pg_config={0: [0, "1"]}), "pg_config of '0': a rank is str"),
        ("{'version': '2.4', 'pg_config': {}, 'entries': [", "not what Python prints of a dump"),
        ("{'version': open('x')}", "not what Python prints of a dump"),
        (dump(entry(0, 1, op="recv 3<-x")), "profiling_name 'nccl:recv 3<-x'"),
        ({"version": "2.4"}, "no dump of the flight recorder"),
        (dump(entry(0, 1, state="done")), "rank 0: entry 0: state 'done'"),
        (
            dump(entry(0, 1, time_discovered_completed_ns=None)),
            "state 'completed', and time_discovered_completed_ns None",
        ),
        (dump(entry(0, 1, "started", time_discovered_completed_ns=5)), "state 'started'"),
        (dump(entry(0, -1)), "collective_seq_id"),
        (dump(entry(0, True)), "collective_seq_id is bool"),
        (dump(entry(0, 1 << 70)), "collective_seq_id"),
        (dump(entry(0, "1")), "collective_seq_id is str"),
        (dump(entry(0, 2), entry(1, 1)), "number 1 of group '0' after 2"),
        (dump(entry(1, 1), entry(1, 2)), "record_id does not rise"),
        (dump(entry(0, 1, op="")), "profiling_name 'nccl:'"),
        (dump(entry(0, 1, input_dtypes=[])), "1 sizes of inputs and 0 types"),
        (dump(entry(0, 1, process_group="0")), "process_group"),
        (dump(ranks="[0, 0]"), "ranks '[0, 0]'"),
        (dump(ranks="[0, 1"), "ranks '[0, 1'"),
        (dump(ranks="[0, 9999999]"), "ranks '[0, 9999999]'"),
        (dump(entry(0, 1, profiling_name=10**5000)), "profiling_name of type int"),
        (dump(entry(0, 1, size=[1] * 65)), "65 extents"),
        (dump(entry(0, 1, op="send 0->" + "1" * 5000)), "profiling_name 'nccl:send 0->111"),
        (dump() | {"entries": 3}, "entries is int"),
        ({"segments": []}, "no dump of the flight recorder"),
        ([1], "no dump of the flight recorder"),
        (b"not a pickle", "not a pickle"),
        ("{", "not JSON"),
        (PICKLES[0][:-40], "not a pickle"),
    ],
)
def test_a_broken_dump_is_named(broken, said):
    with pytest.raises(FlightRecorderError) as error:
        parse_flight_recorder([broken])
    assert said in str(error.value) and "rank 0" in str(error.value)


@pytest.mark.parametrize("dumps", [[], {}, b"", "text", {"0": {}}, {-1: {}}, {1 << 20: {}}, {10**5000: {}}, 3])
def test_what_is_no_set_of_dumps(dumps):
    with pytest.raises(FlightRecorderError, match="expected"):
        parse_flight_recorder(dumps)


def test_groups_that_do_not_agree():
    with pytest.raises(FlightRecorderError, match="rank 1: group '0'"):
        parse_flight_recorder([dump(), dump(ranks="[0, 1]")])


class Runs:
    """What a pickle must not do here."""

    def __reduce__(self):
        return os.mkdir, ("made-by-a-pickle",)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("thing", [Runs(), os.getpid, OSError, {"version": [Runs()]}])
def test_a_class_or_a_function_is_refused(thing, protocol, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = pickle.dumps(thing, protocol)
    with pytest.raises(FlightRecorderError, match="data only"):
        parse_flight_recorder([data])
    with pytest.raises(SnapshotError, match="data only"):
        read_snapshot(data)
    assert list(tmp_path.iterdir()) == []


def test_too_deep_too_long_and_too_hungry():
    deep = b"]" * 100_000 + b"a" * 99_999 + b"."
    with pytest.raises(FlightRecorderError, match="deeper than 32"):
        parse_flight_recorder([b"\x80\x02" + deep])
    with pytest.raises(SnapshotError, match="deeper than 32"):
        read_snapshot(b"\x80\x02" + deep)
    with pytest.raises(FlightRecorderError, match="the dump is nested 33 levels deep, expected at most 32"):
        parse_flight_recorder(["[" * 33 + "]" * 33])
    with pytest.raises(NotPlain, match="longer than 10 bytes"):
        load_plain(pickle.dumps(list(range(100))), longest=10)
    with pytest.raises(FlightRecorderError, match="as number 2147483647"):
        parse_flight_recorder([b"\x80\x02Nr\xff\xff\xff\x7f."])  # ten bytes that ask for a memo of 32 GiB
    circle: list = []
    circle.append(circle)
    check_depth(circle)  # it ends


JUNK = (
    None,
    -1,
    1 << 80,
    1 << 20_000,
    "9" * 5000,
    [1 << 62] * 300,
    "[0, 99999999]",
    1.5,
    True,
    "",
    "x" * 50,
    [],
    [[]],
    {},
    {"0": 1},
    b"\xff",
    float("nan"),
)
mutated = partial(damage.mutated, junk=JUNK, early=0.2)


def holds(record):
    """No operation contradicts itself, and no rank is both in a collective and missing from it."""
    for rank in record.dumps:
        for one in record.operations(rank):
            assert one.number >= 0 and one.state in ("scheduled", "started", "completed", "issued")
            assert len(one.sizes) == len(one.dtypes) and all(extent >= 0 for size in one.sizes for extent in size)
    for unmet in record.unmet():
        sides = [*unmet.entered, *unmet.missing, *unmet.unknown]
        assert len(set(sides)) == len(sides) and set(sides) == set(record.members(unmet.group))
    assert str(record) is not None and record.disagreements() is not None


def test_ten_thousand_damaged_dumps():
    chance, read = random.Random(20261123), 0
    small = [copy.deepcopy(one) for one in GLOO]
    for one in small:
        one["entries"] = one["entries"][-2:]
        for each in one["entries"]:
            each["frames"] = each["frames"][:1]
    texts = [json.dumps(one) for one in small]
    for turn in range(10_000):
        rank = turn % 4
        if turn % 3 == 0:
            broken = mutated(small[rank], chance)
        elif turn % 3 == 1:
            broken = chance.choice(damage.FAULTS)(texts[rank], chance)
        else:
            data = bytearray(PICKLES[rank])
            data[chance.randrange(len(data))] = chance.randrange(256)
            broken = bytes(data)
        try:
            record = parse_flight_recorder({rank: broken})
        except FlightRecorderError:
            continue
        holds(record)
        read += 1
    assert 1_000 < read < 9_000
