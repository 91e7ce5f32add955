"""The page reads dumps of the flight recorder as Python does: every field, answer and refusal, on real dumps and damaged ones."""

import base64
import copy
import json
import pickle
import random
import sys
from pathlib import Path

import pytest
from read_equal import answer, plain, played, unequal

from helpers.nccl import FlightRecorderError, parse_flight_recorder

OUTPUT = Path(__file__).parents[1] / "nccl" / "output"
sys.path.insert(0, str(OUTPUT))
from damage import FAULTS  # noqa: E402
from test_flight_recorder import dump, entry, mutated  # noqa: E402

GLOO = json.loads((OUTPUT / "logs" / "gloo-skip.json").read_text())
PICKLES = [base64.b64decode(text) for text in json.loads((OUTPUT / "logs" / "gloo-skip-pickles.json").read_text())]
NCCL = (OUTPUT / "logs" / "nccl-dump-2.5.json").read_text()
OPS = ("all_reduce", "broadcast", "_all_gather_base", "all_gather", "coalesced", "allreduce", "send 0->1", "recv 1<-0")
STATES = ("completed", "completed", "started", "scheduled")


def told(dumps):
    read = parse_flight_recorder(dumps)
    groups = dict.fromkeys(one.group for each in read.dumps.values() for one in each.operations)
    more = {
        "members": [read.members(group) for group in groups],
        "unmet": read.unmet(),
        "text": str(read),
        "ranks": [[read.completed(rank), read.pending(rank)] for rank in read.dumps],
        "absent": read.absent,
        "disagreements": read.disagreements(),
    }
    return plain(read) | plain(more)


def some_job(chance):
    """Ranks of two groups that do nearly the same: some further on, some with another call, one perhaps without its dump."""
    names, numbers = ("0", chance.choice(("10", "2", "é'", "__proto__", ""))), range(chance.randint(1, 6))
    calls = [(chance.choice(OPS), chance.choice(names), (chance.choice((2, 4, 1 << 40)),)) for _ in numbers]
    dumps = {}
    for rank in range(chance.randint(1, 4)):
        entries, first = [], chance.choice((0, 0, 0, 3))
        for number in numbers[: len(numbers) - chance.choice((0, 0, 1))]:
            op, group, size = calls[number]
            size = size * chance.choice((1, 1, 1, 2))
            backend, p2p = chance.choice(("nccl", "gloo")), "-" in op
            more = {"retired": chance.random() < 0.3, "is_p2p": p2p, "p2p_seq_id": number}
            made = entry(first + number, number, chance.choice(STATES), op, size, group, backend, **more)
            entries.append(
                made | {"frames": [{"filename": f"/a/{chance.choice('bé')}.py", "line": number, "name": "f"}]}
            )
        groups = {name: {"ranks": chance.choice(("[0, 1, 2]", "[0,1, 2]", "[2, 1, 0]"))} for name in names}
        dumps[rank] = dump(*entries) | ({"pg_config": groups} if chance.random() < 0.7 else {})
    return dumps


def written(dumps, chance):
    """As a pickle, as JSON, or as JSON's bytes."""
    ways = (lambda one: pickle.dumps(one, chance.choice((2, 4, 5))), json.dumps, lambda one: json.dumps(one).encode())
    return {rank: chance.choice(ways)(one) for rank, one in dumps.items()}


def damaged_dump(chance, small, texts):
    rank, kind = chance.randrange(4), chance.randrange(3)
    if kind == 0:
        return {rank: pickle.dumps(mutated(small[rank], chance), 4)}
    if kind == 1:
        text = chance.choice(FAULTS)(texts[rank], chance)
        return {rank: chance.choice((text, text.encode("utf-8")))}
    data = bytearray(PICKLES[rank])
    data[chance.randrange(len(data))] = chance.randrange(256)
    return {rank: bytes(data)}


ODD = [
    {},
    {0: "{"},
    {0: ""},
    {0: "\ufeff{}"},
    {0: b' \x0b{"a": 1}'},
    {0: b'{"a": "\xff"}'},
    {0: '{"version": "2.10", "pg_config": {}, }'},
    {0: '{"version": "2.10", "pg_config": {"é": 1 "😀"}}'},
    {0: '{"version": "2.10", "pg_config": {"0": {"ranks": "[0]"}}, "entries": [1, ]}'},
    {0: '{"a": "\\ud83d\\u12"}'},
    {0: '{"a": "\\x"}'},
    {0: '{"a": "b\nc"}'},
    {0: '{"a": "b'},
    {0: '{"a": "b\\'},
    {0: '{"a": "\\u1234'},
    {0: '{"a": [1.5, -0, 1e999, NaN, -Infinity, nul]}'},
    {0: '{"a": 01}'},
    {0: '{"a": -}'},
    {0: '{"a": 1}x'},
    {0: "[" * 100_000},
    {0: "[" * 40 + "]" * 40},
    {0: '{"a": ' + "9" * 5000 + "}"},
    {0: pickle.dumps(dump(entry(0, 1, profiling_name=10**5000)))},
    {0: pickle.dumps(dump(entry(0, 1, size=[1] * 65)))},
    {0: pickle.dumps(dump(entry(0, 1, size=[1 << 62] * 64)))},
    {0: pickle.dumps(dump(entry(0, 1 << 60)))},
    {0: pickle.dumps(dump(entry(1 << 60, 1), entry((1 << 60) + 1, 2)))},
    {0: pickle.dumps(dump(entry(1, 1), entry(1, 2)))},
    {0: pickle.dumps(dump(entry(0, 2), entry(1, 1)))},
    {0: pickle.dumps(dump(entry(0, 1, op="send 0->1" + "1" * 9)))},
    {0: pickle.dumps(dump(entry(0, 1), ranks="[0, 9999999]"))},
    {0: pickle.dumps(dump() | {"pg_config": {1: {"ranks": "[0]"}}})},
    {0: pickle.dumps(dump() | {"pg_config": {(1, 2): {"ranks": "[0]"}}})},
    {0: pickle.dumps(dump() | {"pg_config": {"\0a": {"ranks": "[0]"}, "b": {"ranks": "[1,1]"}}})},
    {0: pickle.dumps(dump() | {"version": (2, 10)})},
    {0: pickle.dumps(dump() | {"entries": 3})},
    {0: pickle.dumps(dump() | {"entries": [[]]})},
    {0: pickle.dumps(dump(*[entry(0, 1, frames=[{}] * 2000)] * 2100))},
    {0: pickle.dumps(dump(*[entry(0, 1, input_sizes=[[]] * 1000)] * 300))},
    {0: pickle.dumps({"version": "2", "pg_config": {str(k): {"ranks": "[0" + ",0" * 9000 + "]"} for k in range(1000)}})},
    {rank: pickle.dumps(dump(entry(0, 1, "started", op=op))) for rank, op in enumerate(("coalesced", "all_reduce", "all_reduce"))},
    {0: pickle.dumps(dump(entry(0, 1), ranks="[0]") | {"pg_config": {"": {"ranks": "[0, 1]"}, "0": {"ranks": "[0]"}}})},
    {0: pickle.dumps(dump(entry(0, 1), ranks="[0]") | {"pg_config": {"": {"ranks": "[0, 1]"}}})},
    {0: pickle.dumps([1])},
    {0: b"not a pickle"},
    {0: pickle.dumps(dump()), 1: pickle.dumps(dump(ranks="[0, 1]"))},
    {0: pickle.dumps(dump()), -1: b""},
    {1 << 20: b""},
    {0: pickle.dumps(dump()), 3: NCCL},
]  # fmt: skip


EMPTIED = {"": {"name": "", "desc": "", "ranks": "[]"}}  # what Gloo leaves of its one entry when a second group is made


def cases(count):
    chance = random.Random(20261123)
    small = [copy.deepcopy(one) for one in GLOO]
    for one in small:
        one["entries"] = one["entries"][-2:]
        for each in one["entries"]:
            each["frames"] = each["frames"][:1]
    texts = [json.dumps(one) for one in small]
    found = [*ODD, {0: NCCL}, dict(enumerate(PICKLES)), {rank: json.dumps(one) for rank, one in enumerate(GLOO)}]
    found.append({rank: json.dumps(one | {"pg_config": EMPTIED}) for rank, one in enumerate(GLOO)})
    found += [written(some_job(chance), chance) for _ in range(count)]
    return found + [damaged_dump(chance, small, texts) for _ in range(count)]


@pytest.mark.parametrize("count", [600, pytest.param(6_000, marks=pytest.mark.matrix("twelve thousand sets of dumps"))])
def test_dumps_are_read_alike(node, tmp_path, count):
    made = cases(count)
    mine = [answer(told, dumps, FlightRecorderError) for dumps in made]
    assert unequal(mine, played(node, tmp_path, "flights", made)) == []
    values = [one["value"] for one in mine if "value" in one]
    assert len(values) > count / 2 and len(mine) - len(values) > count / 2
    assert min(sum(bool(one[name]) for one in values) for name in ("absent", "unmet", "disagreements")) > count / 20
