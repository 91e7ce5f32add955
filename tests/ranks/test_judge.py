"""The end of a call: who is to blame when nobody is, who may go on, and the last words of C++."""

from __future__ import annotations

import os
import select
import signal
import time

import pytest
import torch
import torch.distributed as dist

from helpers.ranks import RankError
from helpers.ranks.hangs import verdict
from helpers.ranks.pool import judge


def hangs_up():
    """Rank 3 closes its connections and finishes: the others are cut off, and nobody has died or raised of himself."""
    if dist.get_rank() == 3:
        dist.destroy_process_group()
    else:
        dist.recv(torch.ones(4), 3)


def launches_and_raises():
    if dist.get_rank() == 0:
        dist.all_reduce(torch.ones(4), async_op=True)
    raise ValueError("boom")


def raises_after_work():
    dist.all_reduce(torch.ones(4))
    raise ValueError("boom")


def raises_while_another_dies():
    if dist.get_rank() == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if dist.get_rank() == 1:
        raise ValueError("boom")
    dist.barrier()


def speaks_late(sign):
    if dist.get_rank() == 0:
        raise ValueError("boom")
    while not sign.exists():
        time.sleep(0.01)
    print("late words", flush=True)
    time.sleep(60)


def test_a_death_comes_before_an_exception(four):
    with pytest.raises(RankError) as caught:
        four.run(raises_while_another_dies)
    assert (caught.value.root.rank, caught.value.root.kind) == (3, "died")
    assert [(f.rank, f.kind) for f in caught.value.failures][1] == (1, "raised")


def test_many_different_states_are_cut_and_counted():
    states = [f"running at cell line {rank}" for rank in range(20)]
    lines = verdict.headline([verdict.Failure(None, "mismatch", "they differ")], states).splitlines()
    assert lines[0] == "they differ" and len(lines) == 1 + verdict.SHOWN
    assert lines[-2:] == ["rank 6: running at cell line 6", "13 more ranks: see details()"]


def test_what_lies_outwards_of_a_ranks_own_code_is_no_line_of_the_readers():
    outwards = '  File "helpers/ranks/worker/life.py", line 90 in main\n  File "started.py", line 1 in <module>'
    assert verdict.stack_line(outwards) == ""
    assert verdict.stack_line(f'  File "train.py", line 7 in f\n{outwards}') == "train.py line 7"


def test_when_all_are_consequences_the_first_is_the_cause(four):
    with pytest.raises(RankError) as caught:
        four.run(hangs_up)
    assert caught.value.root.kind == "raised" and caught.value.root.rank == 0, caught.value
    assert "consequence" not in [failure.kind for failure in caught.value.failures]


def test_ranks_with_something_under_way_do_not_go_on(four):
    with pytest.raises(RankError) as caught:
        four.run(launches_and_raises)
    assert not caught.value.sound, "rank 0 has begun what the others have not"
    with pytest.raises(RankError) as caught:
        four.run(raises_after_work)
    assert caught.value.sound


def test_what_is_said_until_the_last_moment_is_told(two, monkeypatch, tmp_path):
    sign, ask = tmp_path / "sign", judge.ask_stacks

    def asked(pending):
        sign.touch()
        ready = select.poll()  # a number of 1024 or more is none for select.select
        ready.register(pending[0].output.fd, select.POLLIN)
        assert ready.poll(10_000)
        return ask(pending)

    monkeypatch.setattr(judge, "ask_stacks", asked)
    with pytest.raises(RankError) as caught:
        two.run(speaks_late, sign)
    assert "late words" in caught.value.details()


def test_last_words_are_one_line_and_short():
    said = "fine\nterminate called after throwing\n  what():  [enforce fail] 4 vs 8\nAborted\nbye\n"
    assert judge.last_words(said) == "  it said: what():  [enforce fail] 4 vs 8"
    assert judge.last_words("fine\nAborted (core dumped)\nbye\n") == "  it said: Aborted (core dumped)"
    assert judge.last_words("Aborted\n" + "line\n" * 10) == judge.last_words("") == "", "too long ago"
    assert len(judge.last_words("Error " + "x" * 5000)) < 220
