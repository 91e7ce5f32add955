"""Traces of torch's profiler: a real step on GPUs, ranks of Gloo, made ones counted by hand and by nanosecond, and damaged ones."""

import gzip
import json
import random
from functools import partial
from itertools import pairwise
from pathlib import Path

import damage
import pytest
from made_traces import event, gloo, op, some_cpu_rank, some_gpu_rank, talk, text, trace

from helpers.nccl import KinetoError, parse_kineto, together
from helpers.nccl.output.traces.kineto_collectives import op_of
from helpers.nccl.output.traces.kineto_intervals import both, minus, total, union

REAL = Path(__file__).parent / "traces" / "ddp-2xa100.json.gz"
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def adds_up(read):
    for device in read.devices:
        for step in (None, *read.steps):
            b = read.breakdown(device, step)
            assert b.compute + b.exposed + b.copies + b.idle == b.wall
            assert min(b) >= 0 and b.exposed <= b.communication and b.loading <= b.idle


def test_a_real_step_of_two_a100():
    """The sums are those of a plain count, microsecond by microsecond, of the same file."""
    read = parse_kineto(REAL)
    assert (read.rank, read.world_size, read.backend, read.nccl, len(read.gpus)) == (0, 2, "nccl", "2.17.1", 2)
    assert list(read.steps) == [5] and read.steps[5] == (0, read.wall) and read.wall == 219_726_905
    assert [(lane.stream, lane.spans) for lane in read.lanes] == [(7, 1251), (40, 7)]
    adds_up(read)
    counted = by_hand(json.loads(gzip.decompress(REAL.read_bytes())))
    b = read.breakdown()
    assert counted == pytest.approx([b.compute / 1e3, b.exposed / 1e3, b.copies / 1e3, b.idle / 1e3], rel=1e-3)


def by_hand(data):
    """Microseconds of computation, exposed communication, copies alone and nothing, each microsecond looked at."""
    rows = [e for e in data["traceEvents"] if e["ph"] == "X"]
    first = min(e["ts"] for e in rows)
    wall = max(e["ts"] + e["dur"] for e in rows) - first
    grain = 10  # of a microsecond
    seen = [bytearray(int(wall * grain) + 2) for _ in range(3)]
    for e in rows:
        kind = {"gpu_memcpy": 2, "gpu_memset": 2}.get(e["cat"], 1 if e["name"].startswith("nccl") else 0)
        if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset"):
            start, end = (round((t - first) * grain) for t in (e["ts"], e["ts"] + e["dur"]))
            seen[kind][start:end] = b"\1" * (end - start)
    states = list(zip(*seen, strict=True))
    counts = [sum(s[0] for s in states), sum(s[1] and not s[0] for s in states), sum(s == (0, 0, 1) for s in states)]
    return [*(n / grain for n in counts), wall - sum(counts) / grain]


def test_what_the_real_steps_collectives_moved():
    read = parse_kineto(REAL)
    assert [one.op for one in read.collectives] == ["broadcast"] * 2 + ["all_reduce"] * 5
    first = read.longest(1)[0]
    assert (first.nbytes, first.dtype, first.nranks, first.group) == (7_875_584 * 4, "Float", 2, "0")
    assert first.algbw == first.busbw == pytest.approx(31_502_336 / 2_673_916e-9)
    assert read.longest(2)[0].exposed >= read.longest(2)[1].exposed


def test_a_made_step_counted_by_hand():
    """Computation 0 to 10 and 30 to 50; an all_reduce from 5 to 35; a copy from 2 to 60; the CPU until 100, in its loader from 70 on."""
    read = parse_kineto(
        text(
            event("gemm", 0, 10),
            talk(5, 30),
            event("gemm", 30, 20),
            event("Memcpy HtoD", 2, 58, "gpu_memcpy", tid=20),
            event(LOADER, 55, 45, "user_annotation", 11, 1),
            event("ProfilerStep#3", 0, 40, "user_annotation", 11, 1),
        )
    )
    assert read.breakdown() == (100_000, 30_000, 20_000, 10_000, 40_000, 30_000, 40_000)
    assert read.breakdown(step=3) == (40_000, 20_000, 20_000, 0, 0, 30_000, 0)
    (one,) = read.collectives
    assert (one.exposed, one.nbytes, one.seconds) == (20_000, 4 << 20, 30e-6)
    assert read.breakdown().hidden == 10_000 and read.breakdown().share("exposed") == 0.2


def test_nanoseconds_since_1970_are_kept():
    """A float would round these to multiples of 256 ns."""
    rows = ((1712195495520882.922, "gemm"), (1712195495520883.001, "gemm"))
    made = json.dumps(trace(*(event(name, "T", "D") for _, name in rows)))
    made = made.replace('"T"', "1712195495520882.922", 1).replace('"T"', "1712195495520883.001").replace('"D"', "0.079")
    read = parse_kineto(made)
    assert read.wall == 158 and read.began == 1712195495520882922 and read.breakdown().compute == 158


def test_a_rank_of_gloo():
    """An operator in which something talks is not computation, what stands in it is; the loader's own operators are not."""
    read = parse_kineto(
        text(
            op("autograd::engine::evaluate_function: Sync", 0, 50),
            op("aten::mm", 5, 10),
            op("c10d::allreduce_", 20, 2),
            gloo("all_reduce", 20, 25),
            op("aten::mm", 40, 10, tid=2),
            event(LOADER, 60, 20, "user_annotation", 11, 1),
            op("aten::stack", 65, 5),
            gpus=(),
        )
    )
    assert read.devices == ("cpu",)
    assert read.breakdown() == (80_000, 20_000, 20_000, 0, 40_000, 25_000, 20_000)
    (one,) = read.collectives
    assert (one.op, one.nbytes, one.nranks, one.exposed, one.group) == ("all_reduce", 4000, 2, 20_000, None)


def test_an_all_gathers_size_is_its_output():
    read = parse_kineto(text(gloo("all_gather", 0, 5, 10), gpus=()))
    assert read.collectives[0].nbytes == 80
    mixed = gloo("all_gather", 0, 5) | {"args": {"Input Dims": [[10], [10]], "Input type": ["float", "double"]}}
    assert parse_kineto(text(mixed, gpus=())).collectives[0].nbytes is None
    several = json.loads(text(gloo("all_gather", 0, 5, 10), gpus=()))
    several["distributedInfo"]["pg_count"] = 2
    (one,) = parse_kineto(json.dumps(several)).collectives
    assert (one.nbytes, one.nranks) == (None, None)  # of which group it was nobody says


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("_allgather_base", "all_gather"),
        ("all_gather_into_tensor", "all_gather"),
        ("allgather_into_tensor_coalesced", "all_gather"),
        ("AllReduce", "all_reduce"),
        ("_reduce_scatter_base", "reduce_scatter"),
        ("_reduce_oop", "reduce"),
        ("all_to_allv", "all_to_all"),
        ("SendRecv", "send_recv"),
        ("magic", "magic"),
    ],
)
def test_torchs_words(word, found):
    assert op_of(word) == found


def test_a_kernel_without_metadata_is_known_by_its_name():
    older = event("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", 0, 5)
    (one,) = parse_kineto(text(older)).collectives
    assert (one.op, one.nbytes, one.busbw, one.seconds) == ("send_recv", None, None, 5e-6)


def test_paths_texts_and_bytes_say_the_same(tmp_path):
    made = text(event("gemm", 0, 1), talk(0, 2))
    packed = gzip.compress(made.encode())
    (tmp_path / "a.json").write_text(made)
    (tmp_path / "a.json.gz").write_bytes(packed)
    sources = (made.encode(), packed, tmp_path / "a.json", str(tmp_path / "a.json.gz"))
    assert all(parse_kineto(source) == parse_kineto(made) for source in sources)
    with pytest.raises(FileNotFoundError):
        parse_kineto(tmp_path / "b.json")


# several ranks ------------------------------------------------------------------------------------------------------
def test_who_waited_for_whom():
    """Rank 1 comes last in the first call by 8 µs and rank 0 in the second by 3: each span is from coming to going."""
    ranks = [text(talk(0, 10, Seq=1), talk(20, 2, Seq=2), rank=0), text(talk(8, 2, Seq=1), talk(17, 5, Seq=2), rank=1)]
    found = together(map(parse_kineto, ranks))
    assert [(held.number, held.cost, held.last) for held in found.held] == [(1, 2000, 1), (2, 2000, 0)]
    assert (found.waited(0), found.waited(1)) == (8000, 3000) and (found.caused(0), found.caused(1)) == (3000, 8000)
    assert found.last() == {1: 1, 0: 1} and found.unmatched == ()


def test_two_calls_that_wait_at_once_wait_once():
    """Rank 0 waits in the first from 0 to 8 and in the second from 4 to 9: that is 9 in all, not 13."""
    ranks = [text(talk(0, 10, Seq=1), talk(4, 7, Seq=2), rank=0), text(talk(8, 2, Seq=1), talk(9, 2, Seq=2), rank=1)]
    found = together(map(parse_kineto, ranks))
    assert found.waited(0) == found.caused(1) == 9_000 and found.held[1].waits(0) == (4_000, 9_000)


def test_calls_without_numbers_go_by_their_order_or_not_at_all():
    first = text(talk(0, 9), talk(10, 3), rank=0)
    assert len(together(map(parse_kineto, (first, text(talk(1, 8), talk(10, 3), rank=1)))).held) == 2
    found = together(map(parse_kineto, (first, text(talk(1, 8), rank=1))))
    assert found.held == () and found.unmatched == (("0", "all_reduce"),)


def test_what_is_laid_beside_each_other_and_what_is_not():
    """A number that comes twice numbers nothing; sizes that differ are no size; a barrier, a message, a rank alone wait for nobody."""

    def held(*events):
        found = together(parse_kineto(text(*rows, rank=rank)) for rank, rows in enumerate(events))
        return [(one.op, one.number, one.nbytes) for one in found.held], found.unmatched

    twice = (talk(0, 9, Seq=7), talk(10, 3, Seq=7))
    assert held(twice, twice) == ([("all_reduce", n, 4 << 20) for n in (0, 1)], ())
    assert held((talk(0, 9, 10, Seq=1),), (talk(0, 9, 20, Seq=1),)) == ([("all_reduce", 1, None)], ())
    for word in ("barrier", "send", "recv"):
        assert held((talk(0, 9, op=word),), (talk(0, 5, op=word),)) == ([], ())
    assert held((talk(0, 9, Seq=1), talk(10, 3, Seq=2)), (talk(0, 5, Seq=1),)) == ([("all_reduce", 1, 4 << 20)], ())


def test_traces_that_do_not_belong_together():
    one = parse_kineto(text(talk(0, 9)))
    with pytest.raises(KinetoError, match="a trace of rank 0: expected one of each rank"):
        together([one, one])
    with pytest.raises(KinetoError, match=r"worlds of different sizes: \{0: 2, 1: 4\}"):
        together([one, parse_kineto(text(talk(0, 9), rank=1, world_size=4))])


# what is damaged ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("{", "not JSON behind letter 1, '{'"),
        ('{"traceEvents": [1, ]}', "not JSON behind letter 18, '{\"traceEvents\": [1'"),
        ("[]", "no trace of torch's profiler: expected a dict with 'traceEvents'"),
        (b"\xff{", "not JSON: these bytes are no text in UTF-8"),
        (gzip.compress(b"{}", mtime=0)[:-6], "packed by gzip and ends too early"),
        (b"\x1f\x8bgarbage", "packed by gzip and damaged"),
        ("[" * 201, "the trace is nested 201 levels deep, expected at most 200"),
        ('{"traceEvents": [' + "9" * 5000 + "]}", "a number of 5000 digits"),
        (3, "expected a path, a text or bytes, got int"),
        (text(), "no event in it has a duration"),
        (text({"ph": "i"}), "no event in it has a duration"),
        (text(3), "event 0 is 3, expected a dict"),
        (text({"name": "x"}), "event 0: ph is None, expected a text"),
        (text(event("x", 0, 1), event("x", -1, 1)), "event 1: ts is -1, expected microseconds from 0 on"),
        (text(event("x", 0, None)), "event 0: dur is None"),
        (text(event("x", 0, "1")), "event 0: dur is '1'"),
        (text(event("x", 0, float("nan"))), "event 0: dur is NaN"),
        (text(event("x", 0, True)), "event 0: dur is True"),
        (text(event("x", 1 << 62, 1)), "event 0: ts is 4611686018427387904"),
        (text(event("x", 1e300, 1)), "event 0: ts is 1e+300"),
        (text(event(3, 0, 1)), "event 0: name is 3, expected a text"),
        (text(event("x", 0, 1, pid=[])), "event 0: pid is of type list, expected a number or a name"),
        (text(event("x", 0, 1) | {"args": 3}), "event 0: args is 3, expected a dict"),
        (text(talk(0, 1, nelems=-1)), "event 0: In msg nelems is -1, expected a whole number from 0 on"),
        (text(talk(0, 1, dtype=3)), "event 0: dtype is 3, expected a text"),
        (text(talk(0, 1), rank="a"), "distributedInfo: rank is 'a'"),
        (json.dumps(trace(talk(0, 1)) | {"deviceProperties": [{}]}), "deviceProperties 0: name is None"),
        (text(gloo("all_reduce", 0, 1, "x"), gpus=()), "event 0: Input Dims is 'x'"),
    ],
)
def test_what_is_damaged_is_named(broken, said):
    with pytest.raises(KinetoError) as error:
        parse_kineto(broken)
    assert said in str(error.value) and len(str(error.value)) < 400


def test_a_gzip_file_that_unfolds_into_gigabytes_is_not_unfolded():
    with pytest.raises(KinetoError, match="longer than 268435456 bytes"):
        parse_kineto(gzip.compress(bytes(300 << 20), 1))


JUNK = (None, -1, 1 << 80, "9" * 5000, 1.5, 1e-9, 1e18, True, "", [], [[]], {}, {"a": 1}, float("nan"), "x" * 70)
mutated = partial(damage.mutated, junk=JUNK, early=0.1)


def small():
    """Of the real step every eighth event, its collectives among them, and a rank of Gloo."""
    data = json.loads(gzip.decompress(REAL.read_bytes()))
    rows = data["traceEvents"]
    data["traceEvents"] = [row for k, row in enumerate(rows) if row["name"].startswith("nccl") or k % 90 == 0]
    return [data, json.loads(some_cpu_rank(random.Random(5)))]


def test_two_thousand_damaged_traces():
    """No error but ours, and where one is read all the same, its sums are its wall time."""
    chance, read = random.Random(20261124), 0
    whole = small()
    texts = [json.dumps(one, indent=1) for one in whole]
    for turn in range(2_000):
        one, how = turn // 2 % 2, turn % 2
        broken = json.dumps(mutated(whole[one], chance)) if how else chance.choice(damage.FAULTS)(texts[one], chance)
        try:
            found = parse_kineto(broken)
        except KinetoError:
            continue
        adds_up(found)
        read += 1
    assert 500 < read < 1_500


def test_made_ranks_add_up():
    chance = random.Random(1)
    for make in (some_gpu_rank, some_cpu_rank):
        for _ in range(300):
            adds_up(parse_kineto(make(chance)))


def test_sets_of_times_are_those_of_single_nanoseconds():
    chance = random.Random(2)
    for _ in range(500):
        one, other = ([tuple(sorted(chance.choices(range(20), k=2))) for _ in range(chance.randrange(6))] for _ in "ab")
        mine, theirs = ({t for a, b in spans for t in range(a, b)} for spans in (one, other))
        found = union(one), minus(union(one), union(other)), both(union(one), union(other))
        for spans, want in zip(found, (mine, mine - theirs, mine & theirs), strict=True):
            assert {t for a, b in spans for t in range(a, b)} == want and total(spans) == len(want)
            assert all(a < b for a, b in spans) and all(b < c for (_, b), (c, _) in pairwise(spans))
