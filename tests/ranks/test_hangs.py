"""Hang reports in a job that torchrun started, with a script that knows nothing of them; and what ranks tell each other."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import psutil
import pytest
import torchruns
from lanes import some

from helpers.ranks.hangs import positions, watching
from helpers.ranks.hangs.positions import Position
from helpers.ranks.notes import notes
from helpers.ranks.notes.envelopes import Peer
from helpers.ranks.notes.notes import State

SCRIPT = "tests/ranks/hanging.py"
WAITING = "waiting in all_reduce #2 of float32[1024] at hanging.py line"
# what goes wrong on rank 3, and what the report says; of which signal a rank died it says if it comes before the launcher
FAULTS = {
    "skip": [
        "no progress for 2 s",
        f"ranks 0-2 {WAITING}",
        "rank 3: running at hanging.py line",
        "after all_reduce #1",
    ],
    "mismatch": [
        "ranks 0-2 are in all_reduce #2 of float32[1024] (hanging.py line",
        "rank 3 in broadcast #2 of float32[1024] root 0 (hanging.py line",
    ],
    "raise": ["rank 3 raised ValueError: boom", 'raise ValueError("boom")', f"ranks 0-2: {WAITING}"],
    "gil": [
        "rank 3 not answering: it has died, a signal has stopped it, or Python's lock (the GIL) is held",
        f"ranks 0-2: {WAITING}",
    ],
    "leave": ["rank 3 finished without entering all_reduce #2 of float32[1024]", "rank 3: finished"],
    "kill": ["rank 3 died: ", "all_reduce #2 of float32[1024] at hanging.py line"],
    "kill rank 0": ["rank 0 died: ", "all_reduce #2 of float32[1024] at hanging.py line"],
    "ddp": ["waiting in all_reduce #5 (DistributedDataParallel) of float32[72]", "rank 3: running at hanging.py line"],
}


DDP = ("torch._dynamo",)  # what a process's first model imports
BY_TORCHRUN = some(
    ["kill rank 0", "raise", "leave", "kill"], ["kill rank 0"], "the other ways in which torchrun itself ends ranks"
)


def hung(fault: str, timeout: str = "2", real: int = 0) -> torchruns.Ended:
    """With four ranks, or under torchrun for real with so many; there each of them imports torch."""
    program = ("-m", "helpers.ranks.hangs", "--timeout", timeout, SCRIPT, fault)
    if real:  # by itself torchrun ends the others a tenth of a second after a death, which a busy machine may need to tell why
        return torchruns.run("--monitor-interval", "2", *program, nproc=real)[0]
    looks = 1.0 if fault == "kill" else 0.1  # for the same reason
    return torchruns.warm_run(*program, nproc=4, loaded=DDP if fault == "ddp" else (), looks=looks)


@pytest.mark.parametrize("fault", BY_TORCHRUN)
def test_under_torchrun_for_real(fault):
    names_the_cause(fault, hung(fault, real=2 if fault == "kill rank 0" else 4))


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "kill rank 0"])
def test_the_report_names_the_cause_and_the_job_ends(fault):
    names_the_cause(fault, hung(fault))


def names_the_cause(fault: str, ended: torchruns.Ended) -> None:
    assert ended.code != 0
    assert ended.err.count("hang report") == 1, ended.err
    report = ended.err[ended.err.index("hang report") :]
    for text in FAULTS[fault]:
        assert text in report, report


LATE = """
import sys, time, torch, torch.distributed as dist
from helpers.ranks.hangs import watching
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
watching.watch(2)
if dist.get_rank() == 1:
    time.sleep(300)
model(torch.ones(2, 8)).sum().backward()
"""


def test_a_model_that_was_made_before_is_watched_too(tmp_path):
    script = tmp_path / "late.py"
    script.write_text(LATE)
    ended = torchruns.warm_run(str(script), nproc=2, loaded=DDP)
    assert "rank 1 has not reached all_reduce #1 (DistributedDataParallel) of float32[72]" in ended.err, ended.err


def test_a_slow_rank_within_the_deadline_is_no_fault():
    ended = hung("slow", timeout="20")
    assert (ended.code, ended.out.count("sum 16.0")) == (0, 4) and "hang report" not in ended.err


def test_a_position_travels_whole_and_its_times_become_ages():
    region = memoryview(bytearray(notes.REGION))
    writer = notes.Writer(region)
    writer.enter("all_reduce", "float32[4]", where="train.py line 7")
    sent = Position("stuck", "waiting", "  File", notes.read(region))
    got = Position.load(sent.dump().encode())
    assert got.journal.inside.state is State.INSIDE and got.journal.entered == 1
    assert abs(got.journal.inside.since - sent.journal.inside.since) < 5
    assert got.journal.inside._replace(since=0) == sent.journal.inside._replace(since=0)
    assert (got.kind, got.text, got.traceback) == ("stuck", "waiting", "  File")


def test_the_first_cause_comes_first():
    stuck, raised = Position("stuck", "waiting in barrier #1"), Position("raised", "raised ValueError: boom")
    assert positions.compose([stuck, raised, None], "").startswith("rank 1 raised ValueError: boom")
    assert positions.compose([stuck, stuck, None], "no progress").startswith("rank 2 not answering")
    assert positions.compose([stuck, positions.GONE, raised], "no progress").startswith("rank 1 died")
    assert (
        positions.compose([stuck, stuck], "no progress for 1 s")
        == "no progress for 1 s\nranks 0, 1 waiting in barrier #1"
    )


def test_how_a_process_has_died_is_read_from_what_is_left_of_it():
    sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
    for number, text in ((signal.SIGKILL, "died: SIGKILL"), (signal.SIGTERM, "died: SIGTERM")):
        process = subprocess.Popen(sleeper)
        assert positions.of_dead(process.pid) is None
        process.send_signal(number)
        while psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
        assert positions.of_dead(process.pid) == Position("died", text)
        process.wait()
        assert positions.of_dead(process.pid) == positions.GONE


def test_whom_the_launcher_has_ended_is_no_cause():
    ended, killed = Position("died", "died: SIGTERM"), Position("died", "died: SIGKILL")
    assert positions.without_ended([ended, killed, None]) == [positions.ENDED, killed, None]
    assert positions.without_ended([ended, positions.GONE]) == [positions.ENDED, positions.GONE]
    assert positions.without_ended([ended, None, ended]) == [ended, None, ended], "somebody else has sent it"


def test_a_report_says_who_keeps_whom_waiting():
    def position(kind: str, *ops: tuple) -> Position:
        region = memoryview(bytearray(notes.REGION))
        writer = notes.Writer(region)
        for op, peers in ops:
            writer.enter(op, "float32[4]", peers=peers, where="train.py line 7")
        journal = notes.read(region)
        return Position.load(Position(kind, f"waiting in {journal.inside}", journal=journal).dump())

    waits, gone = (
        position("stuck", ("recv", [Peer(False, 1)])),
        Position("finished", "finished", journal=positions.NOTHING),
    )
    said = "rank 0 waits to receive from rank 1, which has finished\nrank 0 waiting in recv from rank 1 of float32[4]"
    assert positions.compose([waits, gone], "") == f"{said}\nrank 1: finished"
    assert positions.compose([waits, gone], "no progress for 1 s").startswith("no progress for 1 s: rank 0 waits")
    reduces = position("stuck", ("all_reduce", ()))
    for silent in (None, positions.ENDED):
        assert "has not reached" not in positions.compose([reduces, silent], "no progress for 1 s"), (
            "nothing is known of it"
        )


class Store(dict):
    """As much of a store as ranks that tell each other need."""

    set = dict.__setitem__

    def check(self, keys: list[str]) -> bool:
        return all(key in self for key in keys)


def watcher(monkeypatch, rank: int, *places: str) -> watching.Watcher:
    """One that nobody has started; with each look its rank has come to the next place."""
    one, ahead = object.__new__(watching.Watcher), iter([*places, *places[-1:] * 1000])
    one.rank, one.nranks, one._store = rank, 2, Store()
    monkeypatch.setattr(one, "position", lambda: Position("stuck", next(ahead), journal=positions.NOTHING))
    return one


def test_who_is_on_the_way_when_another_raises_tells_where_he_has_come_to(monkeypatch):
    late = watcher(monkeypatch, 0, "waiting in #1", "waiting in #1", "waiting in #2")
    mine = late.position()
    late._store.set("rank/0", mine.dump())
    monkeypatch.setattr(watching, "ANSWER", 0.2)
    late._stand_by(mine)
    assert Position.load(late._store["rank/0"].encode()).text == "waiting in #2"

    raised, reporter = Position("raised", "raised ValueError: boom"), watcher(monkeypatch, 1, "")
    reporter._store = Store({"rank/0": late._store["rank/0"].encode()})
    assert [position.text for position in reporter._settled([mine, raised])] == ["waiting in #2", raised.text]
    assert reporter._settled([mine, mine]) == [mine, mine], "where nobody has raised or left, all have waited long"


@pytest.mark.parametrize("timeout", [0, -1, "10", None, True, float("nan")])
def test_a_timeout_is_a_number_of_seconds(timeout):
    with pytest.raises(ValueError, match="timeout is a number of seconds above 0, got"):
        watching.watch(timeout)


def test_watching_follows_the_group():
    with pytest.raises(RuntimeError, match=r"hangs.watch\(\) follows init_process_group"):
        watching.watch()


def test_a_script_that_is_not_there_is_named(capsys):
    before = time.monotonic()
    for arguments in (["nowhere.py"], ["--timeout", "0", SCRIPT]):
        with pytest.raises(SystemExit):
            watching.main(arguments)
    said = capsys.readouterr().err
    assert "there is no file nowhere.py" in said and "--timeout is a number of seconds above 0, got 0" in said
    assert time.monotonic() - before < 5
