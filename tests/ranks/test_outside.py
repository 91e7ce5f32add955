"""What a stuck rank tells those who ask from outside, and what each of them cannot see."""

import ctypes
import os
import re
import socket
import tempfile
import threading
import time
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from helpers.nccl import parse_flight_recorder
from helpers.ranks import Ranks
from helpers.ranks.hangs import outside
from helpers.ranks.hangs.flight import report

LATE = 3  # the rank that stays away


def door(folder):
    return outside.open_door(folder), os.getpid()


def stay_away(holding_the_lock):
    x = torch.ones(1024)
    dist.all_reduce(x)
    if dist.get_rank() == LATE:
        (ctypes.PyDLL(None) if holding_the_lock else ctypes.CDLL(None)).sleep(60)
    dist.all_reduce(x)


def settled(look, wanted):
    """Waits until `look` gives what is wanted, ten seconds at most."""
    late = time.monotonic() + 10
    while (seen := look()) != wanted and time.monotonic() < late:
        time.sleep(0.02)
    return seen


@pytest.mark.faults
@pytest.mark.parametrize("holding", [False, True], ids=["in Python", "in C, with the GIL"])
def test_one_fault_and_who_sees_what_of_it(holding):
    """Each half of the chapter's table: a rank that is elsewhere, and one that in addition lets no Python run."""
    with tempfile.TemporaryDirectory() as folder, Ranks(4, backend="gloo", timeout=60) as ranks:
        paths, pids = zip(*ranks.run(door, folder), strict=True)
        call = ranks.run_async(stay_away, holding)
        try:
            states = settled(lambda: sum("waiting in all_reduce #2" in rank.state for rank in call.status().ranks), 3)
            assert states == 3
            record = parse_flight_recorder([outside.ask_worker(path, "fr_trace_json") for path in paths])
            said = report(record).splitlines()[0]
            assert re.search(r": rank 3 has not reached all_reduce #\d of float32\[1024\]$", said), said
            if holding:
                with pytest.raises(TimeoutError, match="no answer to dump_traceback in 1 s"):
                    outside.ask_worker(paths[LATE], "dump_traceback", seconds=1)
            else:
                assert b"in stay_away" in outside.ask_worker(paths[LATE], "dump_traceback")
            assert b"all_reduce" in outside.ask_worker(paths[0], "dump_traceback")
            if os.geteuid() == 0:  # others may be forbidden to trace, which the next test is about
                stacks = [outside.stack(pid) for pid in pids]
                assert ["all_reduce (torch" in seen for seen in stacks] == [True] * 3 + [False]
                assert all("stay_away" in seen for seen in stacks)
        finally:
            call.stop()


def test_a_door_needs_a_short_path_and_a_handler_that_is_there(tmp_path):
    with pytest.raises(ValueError, match="at most 107 bytes, got '/a"):
        outside.open_door("/a" * 60)
    ending = len(f"/rank-{os.getpid()}.sock")
    for folder in ("/" + "b" * (107 - ending), "/" + "ä" * 50):  # 108 bytes; fewer letters than bytes
        with pytest.raises(ValueError, match="at most 107 bytes"):
            outside.open_door(folder)
    with tempfile.TemporaryDirectory() as folder:
        longest = Path(folder, "c" * (106 - ending - len(folder)))
        longest.mkdir()
        path = outside.open_door(longest)
        assert len(path) == 107 and outside.ask_worker(path, "ping")
        outside._doors.pop(path).shutdown()
    with tempfile.TemporaryDirectory() as folder:
        path = outside.open_door(folder)
        assert outside.open_door(folder) == path, "one door a folder"
        assert outside.ask_worker(path, "ping")
        with pytest.raises(ValueError, match="no handler 'nonsense'"):
            outside.ask_worker(path, "nonsense")
        outside._doors.pop(path).shutdown()
    with pytest.raises(OSError):
        outside.ask_worker(str(tmp_path / "nobody"), "ping")


def test_py_spy_says_why_it_sees_nothing(monkeypatch):
    with pytest.raises(PermissionError, match="py-spy sees nothing of process 4194304: Error"):
        outside.stack(4194304)
    monkeypatch.setattr(outside.sys, "executable", "/nowhere/python")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FileNotFoundError, match="pip install py-spy"):
        outside.stack(os.getpid())


STUCK = """\
#0-0 (27a079b828ff1a75) MISMATCH

  Communicator ranks have different AllReduce operation counts
  3 ranks have launched up to operation 2
  1 ranks have launched up to operation 1
"""


def test_ras_is_asked_in_its_own_protocol():
    """A stand-in of what NCCL's user guide describes: a line of text, then the report, then the end."""
    asked = []
    with socket.create_server(("localhost", 0)) as server:

        def answer():
            line, _ = server.accept()
            with line:
                asked.append(line.makefile().readline())
                for part in STUCK.splitlines(keepends=True):
                    line.sendall(part.encode())

        thread = threading.Thread(target=answer)
        thread.start()
        assert outside.ask_ras(server.getsockname()[:2], seconds=5) == STUCK
        thread.join()
        address = server.getsockname()[:2]
    assert asked == ["verbose status\n"]
    with pytest.raises(ConnectionError, match="no RAS listens at"):
        outside.ask_ras(address, seconds=5)
