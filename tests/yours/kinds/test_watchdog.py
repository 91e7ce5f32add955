"""Time-outs as torch 1.9 to 2.15 tell them: who waits in what, who is behind, who is not accused."""

from __future__ import annotations

import pytest
from test_ends import table
from test_oom import FULL, new

from helpers.yours import is_my_number_good
from helpers.yours.words.works import counts, works

END = "ran for 600{:03d} milliseconds before timing out."


def caught(rank, number, op="ALLREDUCE", sent=4096, version="2.5"):
    """The watchdog's line, in the words of a version."""
    numbered = f"SeqNum={number}, " if version not in ("1.9", "1.12") else ""
    old = version in ("1.9", "1.12", "1.13", "2.0")
    what = f"TensorShape=[{sent}]" if old else f"NumelIn={sent}, NumelOut={sent}"
    front = (
        f"[E ProcessGroupNCCL.cpp:566] [Rank {rank}] "
        if old
        else f"[rank{rank}]:[E101 03:04:05.6 x.cpp:632] [Rank {rank}] "
    )
    work = f"WorkNCCL({numbered}OpType={op}, {what}, Timeout(ms)=600000) {END.format(rank)}"
    return f"{front}Watchdog caught collective operation timeout: {work}\n"


def status(rank, enqueued, completed, at=None, version="2.5", group="PG ID 0 PG GUID 0(default_pg)", local=None):
    """The line with the counts, in the words of a version."""
    at = max(completed, 0) + 1 if at is None else at
    local = rank if local is None else local
    front = f"[rank{rank}]:[E101 03:04:05.7 ProcessGroupNCCL.cpp:2168] "
    nccl = f"ast enqueued NCCL work: {enqueued}, last completed NCCL work: {completed}."
    if version == "2.3":
        return f"{front}[PG 0 Rank {local}] Timeout at NCCL work: {at}, l{nccl}\n"
    if version == "2.4":
        what = f"Exception (either an error or timeout) detected by watchdog at work: {at}, l{nccl}"
        return f"{front}[PG 0 (default_pg) Rank {local}] {what}\n"
    if version == "signal":
        what = f"Received a dump signal due to a collective timeout from  rank 0 and we will try our best to dump the debug info. L{nccl}"
        return f"{front}[{group} Rank {local}] {what}This is most likely caused by\n"
    started = ", last started work: -1" if version == "2.12" else ""
    return (
        f"{front}[{group} Rank {local}]  failure detected by watchdog at work sequence id: {at} PG status: last enqueued work: {enqueued}"
        f"{started}, last completed work: {completed}\n"
    )


@pytest.mark.parametrize("version", ["1.9", "1.12", "1.13", "2.0", "2.1", "2.5", "2.12"])
def test_every_versions_operation_is_read(version):
    (one,) = works(caught(3, 77, "BROADCAST", 131072, version), [])
    number = None if version in ("1.9", "1.12") else 77
    assert (one.rank, one.number, one.op, one.sent, one.limit, one.ran) == (
        3,
        number,
        "BROADCAST",
        "131072",
        600000,
        600003,
    )
    found = is_my_number_good(caught(3, 77, "BROADCAST", 131072, version))
    assert (
        found.accused == ()
        and "only rank 3 is told of" in found.causes[0].why
        and "waited in BROADCAST" in found.sentence
    )


@pytest.mark.parametrize("version", ["2.3", "2.4", "2.5", "2.12", "signal"])
def test_every_versions_counts_are_read(version):
    (one,) = counts(status(3, 1234, 1233, version=version))
    assert (one.rank, one.enqueued, one.completed, one.sure, one.waits, one.next) == (3, 1234, 1233, True, True, 1234)


def job(ranks, number=1234, **changed):
    """All ranks wait in one call; of those in `changed` the counts are others: r2=(enqueued, completed)."""
    other = {int(name[1:]): pair for name, pair in changed.items()}
    lines = []
    for rank in ranks:
        enqueued, completed = other.get(rank, (number + 2, number - 1))
        version = "2.5" if enqueued > completed else "signal"
        lines += [caught(rank, number)] if enqueued > completed else []
        lines.append(status(rank, enqueued, completed, version=version))
    return "".join(lines)


def test_a_coalesced_call_tells_no_size():
    found = is_my_number_good(caught(0, 7, "COALESCED", 2**64 - 1))
    assert found.sentence.startswith("Rank 0 waited in COALESCED #7 for 600 s")


TP = "PG ID 1 PG GUID {}(TENSOR)"
CASES = {
    "all wait": ("world_size=4\n" + job(range(4)), ["all waiting"], "ranks 0 to 3 all wait in ALLREDUCE #1234"),
    "all of one node, and nobody tells of how many": (job(range(4)), [], "if these are all ranks"),
    "all of one node of two": ("world_size: 8\n" + job(range(4)), [], "none of them is behind; no line of ranks 4 to 7"),
    "all wait in the first": (job(range(4), 1), [], "It is the first of its group"),
    "one is behind": (job(range(4), r2=(1233, 1233)), ["missing rank"], "group 0 (default_pg) wait in ALLREDUCE #1234, rank 2 has"),
    "the first is behind": (job(range(4), r0=(1233, 1233)), ["missing rank"], "rank 0 has enqueued no more than 1233"),
    "two are behind": (job(range(8), r2=(1233, 1233), r5=(1230, 1230)), ["missing rank"], "ranks 2 and 5 have"),
    "behind, before the first call": (job(range(2), 1, r1=(0, -1)), ["missing rank"], "rank 1 has enqueued no more than 0"),
    "one wrote nothing": (job([0, 1, 3]), [], "no line of rank 2"),
    "some wait in one call, and of one no line names the group": (
        "nranks=4\n" + job([0, 1]) + caught(3, 1234), [], "ranks 0, 1 and 3 all wait in ALLREDUCE #1234, the same call: none of them"
    ),
    "one waits a call earlier": (
        caught(0, 902) + status(0, 902, 901, version="2.4") + status(2, 901, 900, version="2.4"),
        [],
        "rank 2 of group 0 (default_pg) waits in call 901, which rank 0 completed before waiting in call 902: 1 behind",
    ),
    "one waits a call earlier, by its dump": (
        status(0, 902, 901, version="2.4") + status(1, 902, 901, version="2.4") + status(2, 901, 900, version="signal"),
        [],
        "waits in call 901, which ranks 0 and 1 completed before waiting in call 902: 1 behind",
    ),
    "only one is there": (job([5]), [], "only rank 5 is told of"),
    "counts that cannot be, of 2.3": (status(0, 7, 6, version="2.3") + status(1, 7, 76280750235782912, version="2.3"), [], ""),
    "another call at one number": (
        caught(0, 900, "ALLREDUCE") + caught(1, 900, "BROADCAST"),
        ["ranks disagree"],
        "rank 0: ALLREDUCE of 4096 elements; rank 1: BROADCAST of 4096 elements",
    ),
    "another size at one number": (
        caught(0, 9, sent=8) + status(0, 9, 8) + caught(1, 9, sent=16) + status(1, 9, 8),
        ["ranks disagree"],
        "rank 0: ALLREDUCE of 8 elements; rank 1: ALLREDUCE of 16 elements",
    ),
    "another call at a small number, of a group that nobody names": (
        caught(0, 9, "ALLREDUCE") + caught(1, 9, "BROADCAST"),
        [],
        "two groups, which these lines do not tell apart",
    ),
    "another size at one number, of groups side by side": (caught(0, 900, sent=8) + caught(1, 900, sent=16), [], "or it is of two groups"),
    "uneven calls may differ": (caught(0, 9, "ALLTOALL", 8) + caught(1, 9, "ALLTOALL", 16), [], "ALLTOALL #9"),
    "one number of two groups is no disagreement": (
        caught(0, 9, "REDUCE") + status(0, 9, 8, group=TP.format(5)) + caught(1, 9) + status(1, 9, 8, group=TP.format(6)),
        [],
        "",
    ),
    "behind in one group, and waiting in another": (
        status(0, 59, 58) + status(1, 58, 58, version="signal") + caught(1, 30) + status(1, 30, 29, group=TP.format(7)),
        [],
        "",
    ),
    "groups that only have a rank's own number": (
        status(0, 9, 8, group="PG 1") + status(1, 5, 5, group="PG 1", version="signal"),
        [],
        "may be those of several",
    ),
    "wrapped": (job(range(4), r2=(1233, 1233)).replace("enqueued ", "enqueued\n").replace(", N", ",\n N"), ["missing rank"], "rank 2 has"),
    "one line for all of Ray's": (job(range(2), r1=(1233, 1233)).replace("\n", " (Worker pid=7) "), ["missing rank"], "rank 1 has"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_who_is_behind_and_who_is_not_accused(name):
    text, right, why = CASES[name]
    found = is_my_number_good(text)
    assert not found.refused and list(found.accused) == right
    assert why in " ".join(one.why for one in found.causes) and all(one.repair for one in found.causes)


NEW = {
    "[rank3]:[E101 03:04:05.6 ProcessGroupNCCL.cpp:99] [TC][rank=3][name=default_pg] Aborting process on rank 3 due to timeout - timeout"
    " watchdog detected operation timeout": "rank 3",
    "[E101 03:04:05.6 WorkNCCL.cpp:88] [TC][rank=2][name=0] Operation timed out after 600000 ms": "rank 2",
    "[rank1]: torch.distributed.DistBackendError: Watchdog caught collective operation timeout: NCCL operation timed out": "rank 1",
}


@pytest.mark.parametrize("text", NEW)
def test_torch_2_15_names_the_waiter_alone_and_sends_to_the_files(text):
    found = is_my_number_good(text)
    assert found.accused == () and NEW[text] in found.what
    assert [(one.name, one.repair) for one in found.causes] == [("no dump", "timeout")]


SINGLE = {
    "[rank7]:[E1 ProcessGroupNCCL.cpp:1743] [PG ID 0 PG GUID 0(default_pg) Rank 7] ProcessGroupNCCL's watchdog got stuck for 480 seconds"
    " without making progress": (["stuck watchdog"], "told by rank 7"),
    "[PG 0 Rank 3] Heartbeat monitor timed out! Process will be terminated": (["stuck watchdog"], "told by rank 3"),
    " - [2] finished collective #30, but didn't join collective #31 (count from 1)": (["missing rank"], "of rank 2:"),
    "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: CollectiveFingerPrint(OpType=ALLREDUCE),"
    " but Rank 1 is running collective: CollectiveFingerPrint(OpType=BARRIER).Collectives differ": (["ranks disagree"], "rank 1 runs"),
    "[Rank 0]: Ranks 1, 2 failed to pass monitoredBarrier in 5000 ms": (["missing rank"], "ranks 1 and 2 did not come"),
    "Not all ranks joining collective, sequence number: 5\ninternal record id: 4\ngroup info: 0:default_pg\ncollective: nccl:all_reduce\n"
    "missing ranks: {1, 2}\ninput sizes: [[3, 4]]": (["missing rank"], "ranks 1 and 2 did not join call 5, nccl:all_reduce"),
    "collective: nccl:all_reduce\ninput sizes: [[4]]\nerror msg: Culprit rank 1; Error type: SIZE_OR_SYNTAX_MISMATCH, Expected sizes": (
        ["ranks disagree"],
        "may be that rank and not 1",
    ),
    "because we missed FR dumps from ranks ({3}) so we don't have enough information": ([], "lacks the dumps of rank 3"),
    "Timed out initializing process group in store based barrier on rank: 0, for key: store_based_barrier_key:1 (world_size=4,"
    " worker_count=3, timeout=0:30:00)": (["missing rank"], "4 ranks to join, and 3 had"),
    "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 7/8 clients joined.": (["missing rank"], "7 of 8"),
    "[1] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got"
    " error: Socket Timeout": (["missing rank"], "rank 1 waited for rank 0"),
    "The client socket has timed out after 60000ms while trying to connect to (node-a, 2950).": (["no rendezvous"], "node-a, port 2950"),
    "The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).": (["port taken"], "the port is taken"),
    "torch.distributed.DistStoreError: wait timeout after 300000ms, keys: /default_pg/0//0": ([], "the key /default_pg/0//0"),
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:84] Timed out waiting 1800000ms for recv operation to"
    " complete": ([], "for a recv whose other end"),
    "RuntimeError: [gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:4567": ([], "another rank ended before"),
    "RuntimeError: NCCL error in: a.cpp:9, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.27.5\n"
    "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\nLast error:\nnothing routed": (
        ["warning"],
        "warns: nothing routed",
    ),
    "ncclInvalidUsage: This usually reflects invalid usage of NCCL.\nLast error:\nDuplicate GPU detected : rank 1 and rank 0 both on"
    " CUDA device 1000": (["duplicate GPU"], "two ranks of one node have taken the same GPU"),
    "[rank0]:[W ProcessGroupNCCL.cpp:1875] [PG 0 Rank 0]  using GPU 0 to perform barrier as devices used by this process are currently"
    " unknown.": ([], "torch guesses the GPU"),
    "[rank0]:[W ProcessGroupNCCL.cpp:4718] [PG ID 0 PG GUID 0 Rank 0]  using GPU 0 as device used by this process is currently unknown.": (
        [],
        "torch guesses the GPU",
    ),
    "Process group watchdog thread terminated: CUDA error: an illegal memory access was encountered": (["CUDA error"], "illegal"),
    "RuntimeError: CUDA error: uncorrectable ECC error encountered": (["GPU fault"], "gave up"),
    "[TC][rank=3][name=0] Aborting process on rank 3 due to error - timeout watchdog detected operation error": ([], "not by its time"),
    "[rank2]: torch.distributed.DistBackendError: NCCL operation failed": ([], "not by its time"),
    "RuntimeError: NCCL communicator was aborted after a previous error": ([], "not by its time"),
}  # fmt: skip


@pytest.mark.parametrize("text", SINGLE)
def test_single_messages(text):
    right, why = SINGLE[text]
    found = is_my_number_good(text)
    assert not found.refused and list(found.accused) == right and why in " ".join(one.why for one in found.causes)


@pytest.mark.parametrize("width", [41, 60, 80, 99, 117, 132])
@pytest.mark.parametrize("stripped", [False, True])
def test_a_message_that_a_terminal_broke_is_read(width, stripped):
    text = (
        next(iter(SINGLE))
        + " in monitoring enqueued collectives. This typically indicates a hang of a call of NCCL or CUDA."
    )
    lines = [text[at : at + width] for at in range(0, len(text), width)]
    broken = "\n".join(line.rstrip() if stripped else line.ljust(width) for line in lines)
    found = is_my_number_good(f"{broken}\n[rank7]: what follows\n")
    assert found.accused == ("stuck watchdog",) and "for 480 s" in found.sentence


def test_one_rank_without_room_lets_the_others_wait_and_the_launcher_end_them():
    text = f"[rank2]: {new(**FULL)}\n{job([0, 1, 3])}{table((2, 1, 5), (0, -6, 59), (1, -6, 59), (3, -6, 59))}"
    found = is_my_number_good(text)
    assert found.accused == ("out of memory",)
    assert "no line of rank 2" in next(one.why for one in found.causes if one.name == "missing rank")
