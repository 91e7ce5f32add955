"""The page reads a pickle as Python does: as data of the same types, or not at all; hostile ones are refused at once."""

import base64
import json
import os
import pickle
import random
import struct
from pathlib import Path

import pytest
from read_equal import played, unequal
from snapshots import HOSTILE, some_snapshot

from helpers.plain_pickle import NotPlain, check_depth, load_plain

DUMPS = Path(__file__).parents[1] / "nccl" / "output" / "logs" / "gloo-skip-pickles.json"
LONGEST = 1 << 20
CHANGING = {"list": list, "dict": dict, "set": set, "bytearray": bytearray}


def typed(data):
    """Data with its types; what can be changed is told once, and then by its number."""
    seen, rows = {}, []

    def listed(value):
        if isinstance(value, (set, frozenset)):
            return sorted(json.dumps(keyed(one), separators=(",", ":"), ensure_ascii=False) for one in value)
        return [visit(one) for one in value]

    def visit(value):
        name = type(value).__name__
        if name not in CHANGING:
            return [name, inner(value)]
        if id(value) not in seen:
            seen[id(value)] = len(seen)
            rows.append([name])
            row = rows[-1]
            row.append([[keyed(k), visit(v)] for k, v in value.items()] if name == "dict" else inner(value))
        return seen[id(value)]

    def inner(value):
        if isinstance(value, (bytes, bytearray)):
            return value.hex()
        return listed(value) if isinstance(value, (list, tuple, set, frozenset)) else leaf(value)

    def keyed(key):
        return (
            "key"
            if isinstance(key, (tuple, bytes)) or (isinstance(key, str) and key[:1] == "\0")
            else visit(plain_key(key))
        )

    return [visit(data), rows]


def plain_key(key):
    return int(key) if isinstance(key, bool) or (isinstance(key, float) and key.is_integer()) else key


def leaf(value):
    if isinstance(value, str):
        # Two halves of a pair side by side are one letter in JavaScript
        return value.encode("utf-16-be", "surrogatepass").hex()
    if isinstance(value, float):
        return "nan" if value != value else struct.pack(">d", value).hex()
    return (
        {None: "null", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else str(value)
    )


def answer(data, longest):
    try:
        read = load_plain(data, longest)
        check_depth(read)
        return {"value": typed(read)}
    except NotPlain as error:
        return {"refused": str(error)}


def floats(value):
    if isinstance(value, list):
        return [floats(one) for one in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def check(node, tmp_path, files):
    for kind, longest in (("pickle", None), ("looked", LONGEST)):
        mine = [{name: floats(one) for name, one in answer(data, longest).items()} for data in files]
        assert unequal(mine, played(node, tmp_path, kind, files)) == []
    return mine


class Runs:
    def __reduce__(self):
        return os.mkdir, ("made-by-a-pickle",)


def some_data(chance, depth=0):
    kind = chance.randrange(12 if depth < 4 else 8)
    if kind < 8:
        number = chance.choice((0, 1, -1, 255, 256, 65536, -(1 << 31), 1 << 31, 1 << 53, -(1 << 63), 1 << 64, 1 << 300))
        text = "".join(chance.choice("ab'\\\n\0é€😀\ud800") for _ in range(chance.choice((0, 1, 3, 30, 300))))
        return (None, True, False, number, number / 3, text, text.encode("utf-8", "replace"), 1.5)[kind]
    inner = [some_data(chance, depth + 1) for _ in range(chance.randrange(4))]
    keys = [one for one in inner if not isinstance(one, (list, dict, set, bytearray)) and not holds_list(one)]
    return (inner, tuple(inner), {key: some_data(chance, depth + 1) for key in keys}, {k for k in keys if k == k})[
        kind - 8
    ]


def holds_list(value):
    return isinstance(value, tuple) and any(
        isinstance(one, (list, dict, set, bytearray)) or holds_list(one) for one in value
    )


def changed(data, chance):
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(data) or 1)
        what = chance.randrange(4)
        if what == 0:
            del data[at : at + chance.choice((1, 2, 9))]
        elif what == 1:
            data[at:at] = bytes(
                [
                    chance.choice(
                        b"(0123]})lteudsab.NKUXqhrj\x85\x86\x87\x88\x8a\x8c\x8f\x90\x91\x94\x95\x96\x98c\x93PQR"
                    )
                ]
            )
        else:
            data[at : at + 1] = bytes([chance.randrange(256)])
    return bytes(data)


def keeps_far(data):
    """With a memo of gigabytes, for which Python asks where it does not look through the steps first."""
    puts = (k for k, one in enumerate(data) if one == pickle.LONG_BINPUT[0])
    return any(int.from_bytes(data[k + 1 : k + 5], "little") > 1 << 20 for k in puts)


def sources():
    chance = random.Random(20261123)
    found = [base64.b64decode(text) for text in json.loads(DUMPS.read_text())]
    for _ in range(60):
        found += [pickle.dumps(some_data(chance), protocol) for protocol in (2, 3, 4, 5)]
    return found + [pickle.dumps(some_snapshot(chance), protocol) for protocol in (2, 4, 5) for _ in range(4)]


PLAIN = [
    b"\x95\x10" + b"\0" * 7 + b"\x95\x01" + b"\0" * 7 + b"X\x01\0\0\0a.",
    *(pickle.dumps([1, -7, True, 1.5, 1 << 80, "é\\\n€", None, (1,), {"a": []}], protocol) for protocol in (0, 1)),
    b"S'a\\n\\x41\\101\\q\"'\n.", b"S'a\n.", b"S'\\x4'\n.", b"S'\\xff'\n.", b"Va\\u0041\\U0001f600\\q\\\n.", b"V\\u12\n.",
    b"I00\n.", b"I01\n.", b"I1\n.", b"I-5\n.", b"Ix\n.", b"I\n.", b"L12L\n.", b"L12\n.", b"LL\n.", b"F1e999\n.",
    b"F-inf\n.", b"F1.\n.",
    b"]N(b.", b"]NN\x86b.", b"]N}\x86b.", b"]Nb.", b"]}b.", b"(N0.", b"(0N.", b"(.", b"]Ka(e.", b"]Kaa(e.", b"}(NNu.",
    b"}(Nu.", b"}]Ns.",
    b"\x8f(]\x90.", b"\x8f(NN\x90.", b"(NK\x01\x91.", b"(KK\x01K\x02d.", b"\x98.", b"C\x01a\x98.", b"]\x98.", b"\x97.",
    b"\x82\x01.",
    b"cos\nget\n.", b"c\nget\n.", b"cos\n\n.", "cos\u00e9\nget\n.".encode(), b"(ios\nget\n.", b"ios\nget\n.", b"NN\x93.",
    b"U\x01aU\x02bc\x93.",
    b"Pabc\n.", b"P\xff\n.", b"NQ.", b"Q.", b"\x80\x06N.", b"\x80\x05N.", b"NNR.", b"N)\x81.", b"N)}\x92.", b"(No.",
    b"\x95\x02\0\0\0\0\0\0\0X\x01\0\0\0a.", b"\x95\x01\0\0\0\0\0\0\0N.", b"\x95\xff\0\0\0\0\0\0\0N.",
    b"\x95" + b"\xff" * 8 + b"N.",
    b"\x95\x04\0\0\0\0\0\0\0\x95\x01\0\0\0\0\0\0\0NN.", b"\x95\x03\0\0\0\0\0\0\0B\x02\0\0\0ab.",
    b"\x95\x02\0\0\0\0\0\0\0B\x02\0\0\0ab.",
    b"\x95\x02\0\0\0\0\0\0\0I12\n34\n.", b"\x95\x03\0\0\0\0\0\0\0B\x02\0\0\0a.",
    b"\x95\x06\0\0\0\0\0\0\0B\x03\0\0\0ab" + b"cNNN.",
    b"X\x03\0\0\0\xed\xa0\x80.", b"X\x03\0\0\0\xed\x9f\xbf.", b"X\x02\0\0\0\xed\xa0.", b"X\x02\0\0\0\xc0\x80.",
    b"X\x03\0\0\0\xef\xbb\xbf.",
    b"\x8a\x00.", b"\x8a\x01\xff.", b"\x8b\xff\xff\xff\xff.", b"\x8b\x01\0\0\0\x80.", b"T\x01\0\0\0\xff.",
    b"T\xff\xff\xff\xff.", b"U\x01a.",
    b"Np0\ng0\n\x86.", b"N\x94\x94h\x01.", b"Nq\x05h\x05.", b"Nq\x05h\x04.", b"Nq\x02Nq\x02\x94h\x01.", b"h\x00.", b"2.",
    b"N2\x86.", b"\x85.", b"1.", b"(N1N.",
    b"((l.", b"(t.", b"(]Na.", b"(Na.", b"Na.", b"G\x7f\xf8\0\0\0\0\0\0.", b"\x96\x02\0\0\0\0\0\0\0ab.", b"}\x88K\x01s.",
    b"}G\x3f\xf0\0\0\0\0\0\0NsK\x01Ks.",
    b"}\x8c\x01aNs\x8c\x01bNs\x8c\x01aK\x01s.", b"]q\0h\0a.", b"", b".", b"N", b"\xff", b"}X\x09\0\0\0__proto__Ns.",
]  # fmt: skip


@pytest.mark.parametrize(
    "count", [1600, pytest.param(40_000, marks=pytest.mark.matrix("forty thousand damaged pickles"))]
)
def test_pickles_are_read_alike(node, tmp_path, count):
    chance, whole = random.Random(11), sources()
    made = [*PLAIN, *HOSTILE, *whole]
    made += [pickle.dumps(one, p) for one in (Runs(), os.getpid, OSError, [Runs()]) for p in range(6)]
    made += [changed(chance.choice(whole), chance) for _ in range(count)]
    made = [data for data in made if not keeps_far(data)]
    mine = check(node, tmp_path, made)
    assert sum("value" in one for one in mine) > count // 12
    assert sum("refused" in one for one in mine) > count // 12


def laughs(depth):
    """A list of the list before it, twice, again and again: a few bytes a level, and twice as many values each."""
    levels = b"".join(b"](h" + bytes([k]) + b"h" + bytes([k]) + b"eq" + bytes([k + 1]) for k in range(depth))
    return b"\x80\x02]q\0" + levels + b"."


def nested_key(depth):
    """The same of tuples, as a key: to compare it, all of it must be looked at."""
    levels = b"".join(b"h" + bytes([k]) + b"h" + bytes([k]) + b"\x86q" + bytes([k + 1]) + b"0" for k in range(depth))
    return b"\x80\x02)q\x000" + levels + b"}h" + bytes([depth]) + b"Ns."


HUGE = (
    b"X\xff\xff\xff\xff",
    b"B\xff\xff\xff\xff",
    b"T\xff\xff\xff\x7f",
    b"\x8b\xff\xff\xff\x7f",
    b"\x8d" + b"\xff" * 8,
    b"\x8e" + b"\x7f" * 8,
)
MANY = 1 << 16
BAD = {
    "laughs": laughs(250),
    "laughs no deeper than a dump": laughs(30),
    "a key of a billion": nested_key(60),  # Python itself would look at all of them
    "nested without end": b"\x80\x02" + b"]" * MANY + b"a" * (MANY - 1) + b".",
    "marks without end": b"\x80\x02" + b"(" * MANY + b".",
    "tuples without end": b"\x80\x02)" + b"\x85" * MANY + b".",
    "memo far away": b"\x80\x02Nr\xff\xff\xff\x7f.",
    "a long number": b"I" + b"9" * MANY + b"\n.",
    "a long long": b"\x8b\x00\x00\x01\x00" + b"\x7f" * MANY + b".",
    "a line without end": b"S'" + b"a" * MANY,
    "quotes without end": b"S'" + b"\\" * MANY + b"'\n.",
    "cut": base64.b64decode(json.loads(DUMPS.read_text())[0])[:-40],
    **{f"huge {huge[:1]!r} {end!r}": b"\x80\x04" + huge + end for huge in HUGE for end in (b".", b"aaaa.")},
    **{f"{thing} {protocol}": pickle.dumps(thing, protocol) for thing in (Runs(), os.getpid) for protocol in range(6)},
}


def test_hostile_pickles_are_refused_at_once(node, tmp_path):
    """By all that read files; as data alone some may pass. The ceiling is a guard against hangs: the longest takes tenths of a second."""
    for (name, data), tries in zip(BAD.items(), played(node, tmp_path, "hostile", list(BAD.values())), strict=True):
        assert all(one["refused"] for one in tries["value"][:2]), name
        assert max(one["seconds"] for one in tries["value"]) < 5, name
        asks = {"asks for" in (one["refused"] or "") for one in tries["value"]}
        assert asks == {b"getpid" in data or b"mkdir" in data}, name
