"""How jobs ended, as torchrun, its log, other launchers and kernels tell: who was first, by what, who only followed."""

from __future__ import annotations

import pytest
from test_oom import FULL, new

from helpers.yours import is_my_number_good
from helpers.yours.words.exits import ends

SIGNALS = {-9: "SIGKILL", -6: "SIGABRT", -7: "SIGBUS", -11: "SIGSEGV", -15: "SIGTERM", -8: "SIGFPE", -4: "SIGILL"}


def row(index, rank, code, second=0, host="node-a", local=None, docs="pytorch.org/docs/stable/elastic/errors.html"):
    """One failure as torchrun prints it, from torch 1.9 on."""
    local = rank if local is None else local
    name = f" ({SIGNALS[code]})" if code in SIGNALS else ""
    said = (
        f"Signal {-code} ({SIGNALS[code]}) received by PID {900 + rank}"
        if code in SIGNALS
        else f"To enable traceback see: https://{docs}"
    )
    return (
        f"[{index}]:\n  time      : 2026-01-02_03:04:{second:02d}\n  host      : {host}\n  rank      : {rank} (local_rank: {local})\n"
        f"  exitcode  : {code} (pid: {900 + rank}){name}\n  error_file: <N/A>\n  traceback : {said}\n"
    )


def table(root, *others):
    """The table of one torchrun: rows as (rank, code, second)."""
    rows = "".join(row(index, *other) for index, other in enumerate(others, start=1)) or "  <NO_OTHER_FAILURES>\n"
    line = "=" * 60
    return (
        f"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n{line}\ntrain.py FAILED\n{'-' * 60}\nFailures:\n{rows}"
        f"{'-' * 60}\nRoot Cause (first observed failure):\n{row(0, *root)}{line}\n"
    )


def logged(rank, code):
    return (
        f"E0102 03:04:05.678000 77 torch/distributed/elastic/multiprocessing/api.py:984] failed (exitcode: {code}) local_rank: {rank}"
        f" (pid: {900 + rank}) of binary: /usr/bin/python3\n"
    )


CODES = {
    -9: (["killed"], "killed"),
    -6: (["aborted"], "killed"),
    -7: (["bus error"], "shared-memory"),
    -11: (["crashed"], "versions"),
    -15: ([], "killed"),
    127: (["not started"], "settings"),
    126: (["not started"], "settings"),
    2: (["not started"], "settings"),
    134: (["aborted"], "killed"),
    137: (["killed"], "killed"),
    1: ([], ""),
}


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(
    "around", ["", "[rank0]: ", "0: ", "2026-01-02 03:04:05,678 "], ids=["bare", "rank", "Slurm", "clock"]
)
def test_every_code_of_the_table_and_of_the_log(code, around):
    right, repair = CODES[code]
    for text in (table((3, code, 7)), logged(3, code) + table((3, code, 7)), logged(3, code)):
        text = "".join(f"{around}{line}\n" for line in text.splitlines())
        found = is_my_number_good(text)
        assert list(found.accused) == right and found.causes[0].repair == repair
        assert "ank 3 (pid 903)" in found.sentence
    (one,) = ends(table((3, code, 7)))
    assert (one.rank, one.local, one.pid, one.time, one.root) == (3, 3, 903, "2026-01-02_03:04:07", True)


OUTSIDE = "torch.distributed.elastic.multiprocessing.api.SignalException: Process 77 got signal: {}"
FRAMED = "".join(f"\u2502 {line:280}\u2502\n" for line in table((3, -11, 5), (0, 1, 9)).splitlines())
MANY = {
    "in a frame of a terminal's width": (FRAMED, "Rank 3 ", ["crashed"]),
    "without its head": (row(0, 3, -11), "Rank 3 ", ["crashed"]),
    "the root is told last": (table((3, -9, 5), (0, 1, 9), (1, 1, 9)), "Rank 3 ", ["killed"]),
    "the first in time, of two nodes": (table((8, 1, 30, "node-b", 0)) + table((3, -9, 5), (4, 1, 9)), "Rank 3 ", ["killed"]),
    "the second table is the first in time": (table((3, 1, 30)) + table((12, -11, 5, "node-b", 4)), "Rank 12 ", ["crashed"]),
    "ended by the launcher, and first": (table((0, -15, 5), (3, -9, 6)), "Rank 3 ", ["killed"]),
    "all were asked to end": (table((0, -15, 5), (1, -15, 5)), "Rank 0 ", []),
    "all at once": (table((0, -9, 5), (1, -9, 5), (2, -9, 5)), "Rank 0 ", ["killed"]),
    "killed by the launcher": (
        "WARNING Unable to shutdown process 903 via 15, forcefully exiting via 9\n" + table((1, 127, 6), (3, -9, 5)),
        "Rank 1 ",
        ["not started"],
    ),
    "killed by the launcher, and nobody else": (
        "Unable to shutdown process 903 via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL\n" + table((3, -9, 5)),
        "Rank 3 ",
        [],
    ),
    "torchrun was told to end": (OUTSIDE.format(15), "", ["terminated"]),
    "a terminal that closed": (OUTSIDE.format(1), "", ["terminated"]),
}  # fmt: skip


@pytest.mark.parametrize("name", MANY)
def test_the_first_in_time_is_accused_and_nobody_that_followed(name):
    text, begins, right = MANY[name]
    found = is_my_number_good(text)
    assert list(found.accused) == right and found.sentence.startswith(begins)


OTHERS = {
    "[2026-01-02] [ERROR] [launch.py:325:sigkill_handler] ['python', 'train.py'] exits with return code = -9": "killed",
    "mpirun noticed that process rank 5 with PID 0 on node node-a exited on signal 11 (Segmentation fault).": "crashed",
    "torch.multiprocessing.spawn.ProcessExitedException: process 2 terminated with signal SIGKILL": "killed",
    "subprocess.CalledProcessError: Command '['/usr/bin/python3', 'train.py']' died with <Signals.SIGSEGV: 11>.": "crashed",
    "srun: error: node-a: task 3: Killed": "killed",
    "srun: error: node-a: tasks 3,5-7: Segmentation fault (core dumped)": "crashed",
    "srun: error: node-a: task 3: Out Of Memory": "killed",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=77.0. Some of the step tasks have been OOM Killed.": "killed",
    "[12345.6] Memory cgroup out of memory: Killed process 903 (python3) total-vm:9kB, anon-rss:9kB": "killed",
    "RuntimeError: DataLoader worker (pid 903) is killed by signal: Bus error. It is possible that": "bus error",
    "RuntimeError: DataLoader worker (pid(s) 903, 904) is killed by signal: Killed.": "killed",
    "run.sh: line 12:   903 Killed                  python train.py": "killed",
    "Bus error (core dumped)": "bus error",
    "    reason: OOMKilled\n    exitCode: 137": "killed",
}


@pytest.mark.parametrize("text", OTHERS)
def test_other_launchers_shells_and_kernels(text):
    assert is_my_number_good(text).accused == (OTHERS[text],)


def test_who_killed_it_is_told_where_the_paste_proves_it():
    proof = "[12345.6] Memory cgroup out of memory: Killed process 903 (python3) total-vm:9kB"
    (one,) = is_my_number_good(f"{table((3, -9, 5))}{proof}\n").causes
    assert (
        "killed by the kernel, for a container's or a job's memory limit" in one.why and "another number" not in one.why
    )
    (one,) = is_my_number_good(f"{table((3, -9, 5))}{proof.replace('903', '77')}\n").causes
    assert "another number" in one.why


PEER = "as a rank does when another has gone"
LEFT = "[rank3]: torch.distributed.DistBackendError: NCCL error in: x, remote process exited or there was\n"
OWN = ["Python exception"]
RAISED = {
    "its own": ("[rank3]: ValueError: 7 heads\n", OWN, 'rank 3 has "ValueError: 7 heads"'),
    "of torch before 2.2": ("Traceback (most recent call last):\nKeyError: 'x'\n", OWN, "the text has \"KeyError: 'x'\""),
    "another rank's, which torchrun did not take for the first": (
        "[rank3]: RuntimeError: [1] Connection closed by peer [127.0.0.1]:4567\n[rank1]: ValueError: boom\n",
        OWN,
        'rank 1 has "ValueError: boom"',
    ),
    "only that a peer went": (LEFT, [], PEER),
}  # fmt: skip


@pytest.mark.parametrize("name", RAISED)
def test_an_exception_is_named_and_a_follower_is_not_accused(name):
    before, right, why = RAISED[name]
    found = is_my_number_good(before + table((3, 1, 5)))
    assert (
        list(found.accused) == right
        and why in next(one for one in found.causes if one.name in ("Python exception", "peer ended")).why
    )


ABORTED = {
    "terminate called after throwing an instance of 'std::runtime_error'\n  what():  bad block\n": ["aborted"],
    "terminate called after throwing 'c10::Error'\n  what():  CUDA error: an illegal memory access was encountered\n": [
        "CUDA error"
    ],
    "[rank3]:[E1 x.cpp:9] [Rank 3] Process group watchdog thread terminated: CUDA error: misaligned address\n": [
        "CUDA error"
    ],
}


@pytest.mark.parametrize("before", ABORTED)
def test_what_an_abort_says_is_its_cause(before):
    assert list(is_my_number_good(before + table((3, -6, 5))).accused) == ABORTED[before]


def test_beside_the_message_of_a_gpu_without_room_the_status_accuses_nobody():
    found = is_my_number_good(f"[rank3]: {new(**FULL)}\n{table((3, 1, 5), (0, -15, 6))}")
    assert found.accused == ("out of memory",) and "After it: rank 0, signal 15 (SIGTERM)" in found.sentence
    assert found.sentence.endswith("Look first at: out of memory.")


def test_a_table_without_its_root_cause_does_not_tell_who_was_first():
    text = table((3, 1, 5), (0, -6, 6), (2, -6, 6))
    found = is_my_number_good(text.partition("Root Cause")[0])
    assert "Rank 0 (pid" in found.sentence and "is the first that is shown" in found.sentence
    assert (
        "another rank may have ended before" in found.sentence and "root cause" not in is_my_number_good(text).sentence
    )


def test_the_end_of_a_table_is_its_root_cause():
    text = table((3, 1, 5), (0, -6, 6))
    sentence = is_my_number_good(text[text.rindex("  time") :]).sentence
    assert "Rank 3 (pid" in sentence and "ended first" in sentence and "root cause" not in sentence


def test_words_without_an_end_say_what_is_missing():
    assert 'from "Root Cause" on' in is_my_number_good("Root Cause (first observed failure):\n[0]:\n").refused
    assert is_my_number_good("process 0 terminated with exit code 0").refused
    assert is_my_number_good("Command '['ninja', '-v']' returned non-zero exit status 1.").refused
