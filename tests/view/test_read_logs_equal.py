"""The page reads a log of NCCL as Python does: every field and every refusal, on real logs and damaged ones."""

import random
import sys
from pathlib import Path

import pytest
from read_equal import answer, plain, played, unequal

from helpers.nccl import DebugLogError, parse_debug_log

OUTPUT = Path(__file__).parents[1] / "nccl" / "output"
sys.path.insert(0, str(OUTPUT))
from damage import damaged  # noqa: E402

TEXTS = [path.read_text(encoding="utf-8") for path in sorted((OUTPUT / "logs").glob("nccl-*.txt"))]
ODD = [
    "",
    "\ufeffNCCL version 2.1.0+cuda12.4\n",
    "Channel \u0660\u0661 : 1[0] -> 2[0] via P2P/IPC\n",
    "Channel 00/02 :    0   1   2   3\n0: Trees [0] 1/-1/-1->0->-1 [1] -1/-1/-1->0->1\nChannel 00/02 : x\nTrees [a]\n",
    "h:1:2 [-0] NCCL INFO NCCL_ALGO set by environment to \u0663.\x85\n",
    "h:1:2 [0] NCCL INFO AllReduce: 100000000000000001 Bytes -> Algo 1 proto 2 time 8.000000\n",
    "h:1:2 [0] NCCL INFO 8 Bytes -> Algo 9 proto 2 time 123456789012345678.123456\n",
    "h:1:2 [0] NCCL INFO NVLS comm 0x1 headRank 0 nHeads 2 buffSize 1 nvlsPerRankSize 3 nvlsTotalSize 900719925474099301\n",
    "h:1:2 [0] NCCL INFO NCCL version 2.27.5+cuda12.9\nh:1:2 [0] NCCL INFO NCCL version 2.28.3+cuda13.0\n",
    "h:1:2 [0] NCCL INFO Trees [0] -1/-1/-1->0->-1 \U0001f600'\u200b\ud800\n" * 2,
    "\U0001f600" * 310 + " h:1:2 [0] NCCL INFO Using network \U0001f600 IB\u2028\x1f\n",
    "h:1:2 [0] NCCL INFO Invalid value __proto__ for NCCL_X_Y, using default 3.\nh:1:2 [0] NCCL WARN __proto__\n",
]


def rings(nranks, count, cut=""):
    """A communicator of nranks ranks, a ring line of `count` of them, and a tree line of so many channels."""
    who = "h:1:2 [0] NCCL INFO "
    ring = "".join(f"{rank:5}" for rank in range(count))
    trees = "".join(f" [{channel}] 1/-1/-1->0->-1" for channel in range(count))
    init = f"comm 0x1 rank 0 nranks {nranks} cudaDev 0 busId 1000 commId 0x2 - Init START"
    bare = f"{who}Channel 00/02 :{ring}{cut}\n{who}Trees{trees}\n"
    return [bare, f"{who}{init}\n{bare}", f"{bare}{who}{init}\n{bare.replace('00/02', '01/02')}"]


SIZES = [
    (n, count, cut)
    for n in (1, 19, 20, 21, 32, 2000)
    for count in (1, 19, 20, 21, 49, 56)
    for cut in ("", " ...", " 7...")
]
RINGS = [text for size in SIZES for text in rings(*size)]

EDGES = [
    *(f"h:1:2 [0] NCCL INFO Trees [0] -1/-1/-1->0->-1 [1] {'x' * more}\n" for more in range(990, 1000)),
    *(
        f"{'h' * more}:1:2 [0] a{'b' * 70}:1 ({'c' * 180}) NCCL INFO comm 0x1 rank 0 nranks 1 cudaDev 0 busId 1 - Init START\n"
        for more in range(15, 40)
    ),
    RINGS[4] + "h:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 1 cudaDev 0 busId 1000 commId 0x2 - Init COMPLETE\r\n"
    "h:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 5[0] via P2P/IPC\r\n"
    "h:1:2 [0] NCCL INFO one h:1:2 [0] NCCL INFO other\r\n"
    "h:1:2 [0] NCCL INFO comm 0x9 rank 0 nranks 2 cudaDev 0 busId 1000 commId 0x3 - Init START\n",
]


def told(text):
    read = parse_debug_log(text)
    more = {
        "took_effect": read.took_effect,
        "ignored": read.ignored,
        "transports": read.transports(),
        "text": str(read),
    }
    comms = [comm._asdict() | {"ranks": comm.ranks, "hosts": comm.hosts} for comm in read.communicators()]
    version = answer(lambda log: log.version, read, DebugLogError)
    return plain(read) | plain(more | {"communicators": comms, "version": version})


def cases(each):
    found = [*TEXTS, *ODD, *RINGS, *EDGES, *(text.rstrip("\n") for text in TEXTS)]
    for number, text in enumerate(TEXTS):
        found += damaged(text.split("\n"), 20261123 + number, each)
    chance = random.Random(7)
    lines = [line for text in TEXTS for line in text.split("\n")]
    for _ in range(each):  # lines of several logs in one, with the same three hosts
        some = chance.sample(lines, 30)
        found.append("\n".join(line.replace(line.partition(":")[0], f"node{chance.randrange(3)}") for line in some))
    return found


def check(node, tmp_path, each):
    texts = cases(each)
    mine = [answer(told, text, DebugLogError) for text in texts]
    assert unequal(mine, played(node, tmp_path, "logs", texts)) == []
    strict = texts[:: max(1, len(texts) // 600)]
    mine = [answer(lambda text: parse_debug_log(text, strict=True).damaged, text, DebugLogError) for text in strict]
    assert unequal(mine, played(node, tmp_path, "strict", strict)) == []
    assert len({one.get("refused") for one in mine}) > 100  # and each of them in Python's words
    return len(texts)


def test_a_thousand_logs_are_read_alike(node, tmp_path):
    assert check(node, tmp_path, 120) > 1000


@pytest.mark.matrix("twenty thousand damaged logs")
def test_many_more_logs_are_read_alike(node, tmp_path):
    assert check(node, tmp_path, 2200) > 19_000
