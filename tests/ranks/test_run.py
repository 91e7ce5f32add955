"""What a healthy call gives: results in rank order, plain torch.distributed, output in order, a private environment."""

from __future__ import annotations

import gc
import importlib
import os
import selectors
import socket
import stat
import threading
import time
import warnings
from pathlib import Path

import labs
import psutil
import pytest
import torch
import torch.distributed as dist

from helpers.ranks import Ranks, emit, here
from helpers.units import MIB


def test_results_come_in_rank_order_from_plain_torch_distributed(four):
    def f(k, *, add):
        x = torch.full((2,), float(dist.get_rank() * k))
        dist.all_reduce(x)
        return dist.get_rank(), dist.get_world_size(), dist.get_backend(), x.tolist(), add

    assert four.run(f, 10, add="a") == [(rank, 4, "gloo", [60.0, 60.0], "a") for rank in range(4)]


def test_it_says_what_it_runs_on(four):
    assert (four.nranks, four.backend, four.devices) == (4, "gloo", ("cpu",) * 4)
    assert four.label == repr(four) == "4 ranks, gloo, CPU"


def test_output_is_shown_by_rank_in_order_and_gloo_does_not_greet(four, capsys):
    def f():
        labs.time.sleep(0.02 * (3 - dist.get_rank()))
        print("hello", "there", sep="\n")
        os.system("echo from a child")
        dist.new_group([0, 1])
        print("no newline", end="")

    four.run(f)
    lines = ["hello", "there", "from a child", "no newline"]
    assert capsys.readouterr().out == "".join(f"[rank {r}] {line}\n" for r in range(4) for line in lines)


def test_much_output_neither_blocks_nor_floods(two, capsys):
    two.run(lambda: [print("x" * 99) for _ in range(50_000)] and None)
    out = capsys.readouterr().out
    assert len(out) < 2 * 80_000 and "[rank 1] ... 4934464 bytes left out ..." in out


def test_a_failed_call_shows_its_output_too(two, capsys):
    def f():
        print("before")
        raise ValueError

    with pytest.raises(RuntimeError):
        two.run(f)
    assert capsys.readouterr().out == "[rank 0] before\n[rank 1] before\n"


def test_a_character_that_no_encoding_has_is_shown_as_a_question_mark(two, capsys):
    assert two.run(lambda: print("a\udcffb")) == [None, None]
    assert capsys.readouterr().out.count("a?b") == 2


def test_input_ends_at_once(two):
    with pytest.raises(RuntimeError, match="raised EOFError"):
        two.run(input)


def test_emit_reaches_the_callback_while_the_call_runs(two):
    seen = []

    def f():
        for step in range(3):
            emit(step)
        dist.barrier()

    two.run(f, on_emit=lambda rank, obj: seen.append((rank, obj)))
    assert sorted(seen) == [(rank, step) for rank in range(2) for step in range(3)]
    two.run(f)  # nobody listens: nothing happens


def test_an_error_in_the_callback_is_the_callers(two):
    with pytest.raises(ZeroDivisionError):
        two.run(lambda: emit(1), on_emit=lambda rank, obj: 1 / 0)
    assert two.run(labs.healthy) == [8.0] * 2


def test_here_stays_between_calls_and_goes_with_the_ranks(two):
    def keep(value):
        here.value = value + dist.get_rank()

    two.run(keep, 5)
    assert two.run(lambda: here.value) == [5, 6]
    with pytest.raises(RuntimeError, match="what `here` held is gone"):
        two.run(labs.exits, 7)
    assert two.run(lambda: hasattr(here, "value")) == [False, False]


def test_here_and_emit_are_refused_outside():
    with pytest.raises(RuntimeError, match=r"here.model = ... works inside a rank only"):
        here.model = 1
    with pytest.raises(RuntimeError, match=r"emit\(\) works inside a rank only"):
        emit(1)


def test_the_environment_is_the_kernels_and_the_pools(monkeypatch):
    monkeypatch.setenv("NCCL_DEBUG", "WARN")
    monkeypatch.setenv("TORCH_SOMETHING", "set after the forkserver started")

    def f():
        names = ("NCCL_DEBUG", "TORCH_SOMETHING", "RANK", "WORLD_SIZE", "MINE")
        return [os.environ.get(name) for name in names], torch.get_num_threads()

    with Ranks(2, backend="gloo", env={"MINE": "yes", "NCCL_DEBUG": "INFO"}) as ranks:
        values = ["INFO", "set after the forkserver started"]
        assert ranks.run(f) == [([*values, str(rank), "2", "yes"], 1) for rank in range(2)]
    monkeypatch.delenv("NCCL_DEBUG")
    with Ranks(1, backend="gloo") as ranks:
        assert ranks.run(os.environ.get, "NCCL_DEBUG") == [None]


def test_tensors_travel_and_a_view_does_not_drag_its_buffer(two):
    def f(x):
        big = torch.zeros(1_000_000)
        big[3] = dist.get_rank() + x.sum()
        return big[3], torch.nn.Parameter(x)

    got = two.run(f, torch.ones(3))
    assert [value.item() for value, _ in got] == [3.0, 4.0]
    assert all(value.untyped_storage().nbytes() == 4 for value, _ in got)
    assert torch.equal(got[1][1], torch.ones(3)) and isinstance(got[1][1], torch.nn.Parameter)


def test_large_arguments_and_results(two):
    data = os.urandom(20_000_000)
    assert two.run(lambda d: d[::-1], data) == [data[::-1]] * 2


def test_a_class_of_the_caller_keeps_its_identity(two):
    class Mine:
        pass

    assert all(isinstance(obj, Mine) for obj in two.run(lambda: Mine()))


def test_ranks_cannot_start_ranks(two):
    with pytest.raises(RuntimeError, match="a rank cannot start ranks of its own"):
        two.run(lambda: Ranks(2))


def test_two_pools_and_pools_made_in_threads(four):
    made = []
    thread = threading.Thread(target=lambda: made.append(Ranks(2, backend="gloo")))
    thread.start()
    thread.join()
    labs.time.sleep(0.1)  # a worker tied to its creating thread would be dead by now
    with made[0] as other:
        assert (other.run(labs.healthy), four.run(labs.healthy)) == ([8.0] * 2, [16.0] * 4)


def test_one_call_at_a_time(two):
    started, codes = threading.Event(), []
    busy = threading.Thread(
        target=lambda: two.run(lambda: (emit(0), labs.time.sleep(1)), on_emit=lambda *_: started.set())
    )
    busy.start()
    started.wait(10)
    with pytest.raises(RuntimeError, match="in a call already"):
        two.run(codes.append, 1)
    busy.join()
    assert two.run(labs.healthy) == [8.0] * 2


def test_closed_ranks_say_so_and_close_twice():
    ranks = Ranks(2, backend="gloo")
    pids = ranks.run(os.getpid)
    ranks.close()
    ranks.close()
    assert not any(map(psutil.pid_exists, pids)) and repr(ranks) == "2 ranks, gloo, CPU (closed)"
    with pytest.raises(RuntimeError, match="closed"):
        ranks.run(labs.healthy)


def test_dropped_ranks_end_by_themselves():
    pids = Ranks(2, backend="gloo").run(os.getpid)
    gc.collect()
    assert not any(map(psutil.pid_exists, pids))


def test_a_failing_block_closes_its_ranks():
    with pytest.raises(ZeroDivisionError), Ranks(2, backend="gloo") as ranks:
        pids = ranks.run(os.getpid)
        raise ZeroDivisionError
    assert not any(map(psutil.pid_exists, pids))


def test_nothing_listens_beyond_loopback_and_the_files_are_private(four):
    def listening():
        dist.barrier()
        mine = psutil.Process().net_connections("tcp")
        dist.barrier()
        return [(c.laddr.ip, c.family == socket.AF_INET6) for c in mine if c.status == psutil.CONN_LISTEN]

    found = [address for rank in four.run(listening) for address in rank]
    assert found and {ip for ip, _ in found} <= {"127.0.0.1", "::1"}
    scratch = Path(four._team._scratch)
    assert stat.S_IMODE(scratch.stat().st_mode) == 0o700


def test_the_notebook_listens_to_nothing_because_of_its_ranks():
    def here():
        return {c.laddr for c in psutil.Process().net_connections("tcp") if c.status == psutil.CONN_LISTEN}

    before = here()  # other tests of this process may serve a site
    with Ranks(2) as ranks:
        ranks.run(dist.barrier)
        assert here() == before


def test_every_listening_socket_in_proc_net_tcp_is_on_loopback(four):
    """The kernel's own table, read by the notebook while the ranks are in a call."""
    listening = {}

    def look(rank, inodes):
        for table in ("tcp", "tcp6"):
            rows = [line.split() for line in Path("/proc/net", table).read_text().splitlines()[1:]]
            listening.update({row[9]: row[1].split(":")[0] for row in rows if row[3] == "0A" and row[9] in inodes})

    def sockets():
        links = [labs.os.readlink(fd) for fd in labs.os.scandir("/proc/self/fd") if fd.is_symlink()]
        emit({link[8:-1] for link in links if link.startswith("socket:[")})
        dist.barrier()

    four.run(sockets, on_emit=look)
    loopback = {"0100007F", "00000000000000000000000001000000"}
    assert listening and set(listening.values()) <= loopback


def test_deprecated_names_do_not_warn_from_every_rank(two, capsys):
    def f():
        warnings.simplefilter("default", append=True)
        y = torch.empty(2)
        dist.all_gather_into_tensor(y, torch.ones(1))
        return y.tolist()

    assert two.run(f) == [[1.0, 1.0]] * 2
    assert capsys.readouterr().out == ""


def test_who_has_sent_a_long_message_sleeps_until_the_answer(two, monkeypatch):
    """A pipe that takes more is always ready: to go on asking whether it does would keep a core busy."""
    looks, select = [], selectors.DefaultSelector.select
    monkeypatch.setattr(selectors.DefaultSelector, "select", lambda *args: (looks.append(args), select(*args))[1])
    two.run(lambda data: time.sleep(0.5), bytes(16 * MIB))
    assert len(looks) < 1000


def test_ranks_find_what_came_to_the_path_after_they_had_started(two, tmp_path, monkeypatch):
    two.run(labs.healthy)
    (tmp_path / "a_late_lab.py").write_text("def answer(): return 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    answer = importlib.import_module("a_late_lab").answer
    assert two.run(answer) == [42] * 2
