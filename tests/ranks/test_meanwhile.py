"""What a call says while it lasts: on a terminal and below a cell, nowhere else, and nothing of it stays."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from types import SimpleNamespace

import labs
import pytest
import torch
import torch.distributed as dist
import warm_kernels

from helpers.collectives import CATALOGUE
from helpers.meanwhile import LINE, Count, Pace, Silence, aloud, line, silence
from helpers.ranks import Stopped, emit, progress, timing
from helpers.ranks.pool.launch import Team
from helpers.ranks.wire import output
from helpers.ranks.worker import inside

DRAWN = re.compile(r"\x1b7\x1b\[\?7l(.*?)\x1b\[K\x1b\[\?7h\x1b8|\x1b\[K", re.S)
END = "\x05"
QUICK = 0.15  # seconds, in the place of three, and of the one between two lines


class Screen:
    """A terminal: what was drawn on it, and what else was printed there."""

    def __init__(self):
        self._ours, theirs = os.openpty()
        self.file = os.fdopen(theirs, "w")
        self._came: list[str] = []
        self._asked = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                self._came.append(os.read(self._ours, 1 << 16).decode())
            except OSError:  # nobody has the other end any more
                return

    @property
    def text(self) -> str:
        """All that was written until now."""
        self._asked += 1
        self.file.write(END)
        self.file.flush()
        while "".join(self._came).count(END) < self._asked:
            time.sleep(0.002)
        return "".join(self._came).replace(END, "")

    @property
    def lines(self) -> list[str]:
        return [found[1] for found in DRAWN.finditer(self.text) if found[1] is not None]

    @property
    def left(self) -> str:
        """What stays, once all that was drawn is erased."""
        text = self.text
        assert DRAWN.findall(text)[-1:] in ([], [""]), "the last line was not erased"
        return DRAWN.sub("", text).replace("\r\n", "\n")

    def close(self) -> None:
        self.file.close()
        self._reader.join()
        os.close(self._ours)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    for name in ("AFTER", "EVERY"):
        monkeypatch.setattr(line, name, QUICK)
    monkeypatch.setattr(Silence, "_last", (0.0, -9.0, 0))
    yield
    assert LINE._place is None


@pytest.fixture
def screen(monkeypatch):
    made = Screen()
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("TERM", raising=False)
    shown = SimpleNamespace(stderr=made.file, stdout=made.file, modules={})
    monkeypatch.setattr(line, "sys", shown)  # pytest puts its own back at every phase of a test
    monkeypatch.setattr(output, "sys", shown)
    yield made
    made.close()


def counted(steps: int, seconds: float = 0.1) -> int:
    x = torch.ones(1000)
    for _ in progress(range(steps)):
        dist.all_reduce(x)
        time.sleep(seconds)
    return steps


def test_a_long_call_says_how_far_its_ranks_are_and_what_is_left(two, screen):
    screen.file.write("measuring ... ")
    screen.file.flush()
    assert two.run(counted, 10) == [10, 10]
    assert screen.left == "measuring ... "
    said = re.compile(r"2 ranks(, \d+ s)?, (\d) of 10, about \d+ s left: .*after all_reduce #\d")
    steps = [int(found[2]) for one in screen.lines if (found := said.fullmatch(one))]
    assert len(steps) >= 3 and steps == sorted(steps) and steps[0] < steps[-1], screen.lines


def test_ranks_that_are_not_alike_are_told_apart(four, screen):
    def f():
        if dist.get_rank() == 2:
            time.sleep(4 * 0.15)
        dist.all_reduce(torch.ones(8, 16))

    four.run(f)
    waits = r"ranks 0, 1, 3 waiting in all_reduce #1 of float32\[128\] at test_meanwhile.py line \d+; rank 2 running"
    assert any(re.search(waits, one) for one in screen.lines), screen.lines
    assert screen.left == ""


def test_a_short_call_says_nothing_and_many_of_them_do(two, screen):
    two.run(labs.healthy)
    assert screen.text == ""
    deadline = time.monotonic() + 20
    while not screen.lines and time.monotonic() < deadline:
        two.run(time.sleep, 0.02)
    assert screen.lines and screen.left == ""


def test_a_pipe_gets_nothing(two, screen, monkeypatch):
    ours, theirs = os.pipe()
    with os.fdopen(theirs, "w") as piped, os.fdopen(ours) as read:
        monkeypatch.setattr(line, "sys", SimpleNamespace(stderr=piped, stdout=screen.file, modules={}))
        two.run(counted, 5)
        with aloud("computing"):
            time.sleep(3 * QUICK)
        piped.close()
        assert read.read() == "" and screen.text == ""


@pytest.mark.parametrize("why", ["closed", "none", "full"])
def test_what_cannot_be_shown_is_no_error(two, screen, monkeypatch, why):
    def full(_: str) -> None:
        raise BlockingIOError

    kinds = {
        "none": None,
        "closed": screen.file,
        "full": SimpleNamespace(isatty=lambda: True, write=full, fileno=lambda: 1),
    }
    monkeypatch.setattr(line, "sys", SimpleNamespace(stderr=kinds[why], stdout=None, modules={}))
    if why == "closed":
        screen.file.close()
    assert two.run(counted, 4) == [4, 4]
    with aloud("computing"):
        time.sleep(2 * QUICK)


def test_in_the_background_it_speaks_to_who_waits_and_to_nobody_else(two, screen, tmp_path):
    def f():
        while not (tmp_path / "go").exists():
            time.sleep(0.01)

    call = two.run_async(f)
    time.sleep(3 * QUICK)
    assert screen.text == ""
    with pytest.raises(TimeoutError):
        call.result(3 * QUICK)
    seen, length = screen.lines, len(screen.text)
    assert seen and screen.left == "", "nobody waits any more"
    time.sleep(2 * QUICK)
    assert len(screen.text) == length
    threading.Timer(4 * QUICK, (tmp_path / "go").touch).start()
    assert call.result() == [None, None] and len(screen.lines) > len(seen) and screen.left == ""


def test_the_line_makes_way_for_what_ranks_print_and_emit(two, screen):
    def f():
        for i in range(3):
            time.sleep(3 * 0.15)
            print(i)
            emit(i)

    two.run(f, live=True, on_emit=lambda rank, i: screen.file.write(f"emitted {rank} {i}\n") and screen.file.flush())
    assert len(screen.lines) >= 2
    said = [f"[rank {rank}] {i}" for rank in range(2) for i in range(3)] + [
        f"emitted {r} {i}" for r in range(2) for i in range(3)
    ]
    assert sorted(screen.left.splitlines()) == sorted(said)
    for printed in re.finditer(r"^.*(?:\[rank \d\] \d|emitted \d \d)\r$", screen.text, re.M):
        assert "\x1b8" not in printed[0].rpartition("\x1b[K")[2], "printed behind a line that still stood there"


@pytest.mark.parametrize("how", ["an interrupt", "a stop"])
def test_an_end_from_outside_leaves_nothing(two, screen, how):
    def f():
        time.sleep(4 * 0.15)
        emit(0)
        time.sleep(60)

    if how == "an interrupt":
        with pytest.raises(KeyboardInterrupt):
            two.run(f, on_emit=lambda *_: signal.raise_signal(signal.SIGINT))
    else:
        call = two.run_async(f)
        threading.Timer(4 * QUICK, call.stop).start()
        with pytest.raises(Stopped):
            call.result()
    assert screen.lines and screen.left == ""


def test_a_start_says_what_it_waits_for(screen, two):
    team = SimpleNamespace(members=[], world=SimpleNamespace(nranks=8))
    assert Team._born(team, ", 5 s") == "8 ranks start, 5 s: their server is importing torch, which is done once"
    team.members = [1, 2]
    assert Team._born(team, "") == "8 ranks start: 2 have"


def test_what_computes_here_is_told_with_what_it_calls(two, screen):
    with aloud("the article's table"):
        time.sleep(3 * QUICK)
        two.run(counted, 5)
    assert screen.lines[0] == "the article's table"
    assert any(re.match(r"the article's table: 2 ranks.*, \d of 5", one) for one in screen.lines), screen.lines
    assert screen.left == "" and "meanwhile" not in [thread.name for thread in threading.enumerate()]
    with pytest.raises(ZeroDivisionError), aloud("a fault"):
        raise ZeroDivisionError


def test_a_launchers_first_rank_alone_speaks(screen, monkeypatch):
    for rank, speaks in (("1", False), ("0", True)):
        monkeypatch.setenv("RANK", rank)
        with aloud("computing"):
            time.sleep(2.5 * QUICK)
        assert bool(screen.lines) == speaks


def test_a_fork_of_this_process_does_not_touch_the_line(screen):
    with aloud("computing"):
        time.sleep(2 * QUICK)
        LINE.show("computing")
        if not (child := os.fork()):
            LINE.erase()
            os._exit(LINE._place is not None)
        assert os.waitpid(child, 0)[1] == 0
        assert not screen.text.endswith("\x1b[K")


def test_a_line_keeps_to_the_terminals_width(screen, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    LINE.show("x" * 80)
    LINE.erase()
    assert screen.lines == ["x" * 39]


def test_the_time_left_is_of_what_went(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(silence, "time", SimpleNamespace(monotonic=lambda: now[0]))
    pace = Pace()
    assert pace.left(0) == ""
    now[0] += 10
    assert pace.left(0.25) == ", about 30 s left"
    now[0] += 10  # nothing has moved
    assert pace.left(0.25) == ", about 20 s left" and pace.left(1) == ""
    assert pace.left(0.25) == "" == pace.left(0.5), "what begins again has no end that could be told"
    shown = []
    monkeypatch.setattr(LINE, "show", shown.append)
    with Count([1, 1, 2]) as count:
        now[0] += 5
        LINE.next = 0
        for i in range(3):
            count.at(i, f"case {i}")
            now[0] += 4
    assert shown == ["1 of 3: case 0", "2 of 3, about 27 s left: case 1", "3 of 3, about 13 s left: case 2"]


def test_loops_of_ours_count_as_one_and_a_readers_own_goes_before(monkeypatch):
    seen = []
    monkeypatch.setattr(inside, "_count", lambda *one: seen.append(one))
    for _ in inside.parts("ab", [3, 1]):
        for _ in inside.parts(range(3), inner=True):
            pass
    assert seen == [(n, 100) for n in (0, 0, 25, 50, 75, 75, 75, 83, 92, 100, 100)]
    seen.clear()
    list(inside.parts(range(3), inner=True))
    assert seen == []
    for _ in progress(range(2)):
        list(inside.parts("ab"))
    assert seen == [(0, 2), (1, 2), (2, 2)]


def test_a_measured_sweep_ends_at_its_end(two):
    two.run(timing.timing.paired, CATALOGUE["all_reduce", "ring"](2), [1024, 4096])
    assert [(one.done, one.total) for one in two.status().ranks] == [(100, 100)] * 2
    noted = {note.where for journal in two._team.journals() for note in journal.notes}
    assert noted == {""}, "no line of the reader's: a rank's own server is none of theirs"


SLOW = """
from helpers.meanwhile import aloud, line
import time
line.AFTER = line.EVERY = 0.15
def slow():
    with aloud("computing"):
        time.sleep(0.6)
"""
CELLS = {
    "alone": "slow()",
    "between": "print('before', end='')\nslow()\nprint('after')",
    "twice": "slow()\nslow()",
    "figure": "slow()\ndisplay(1)\nslow()",
    "captured": "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as out:\n    slow()\nout.getvalue()",
}


def shown(client, code: str, reader: bool) -> tuple[list, list[str]]:
    """A cell's outputs as JupyterLab would save them, and every text that was to be seen meanwhile."""
    asked, outputs, seen = client.execute(code, allow_stdin=reader), [], []
    while True:
        message = client.get_iopub_msg(timeout=60)
        kind, content = message["msg_type"], message["content"]
        if message["parent_header"].get("msg_id") != asked:
            continue
        if kind == "status" and content["execution_state"] == "idle":
            return outputs, seen
        if kind == "clear_output":
            outputs.clear()
        elif kind == "stream":
            if not (outputs and outputs[-1][0] == content["name"]):
                outputs.append([content["name"], ""])
            for char in content["text"]:
                outputs[-1][1] = outputs[-1][1][:-1] if char == "\b" else outputs[-1][1] + char
            seen.append(outputs[-1][1])
        elif kind in ("display_data", "execute_result", "error"):
            outputs.append([kind, content.get("data", content)])


@pytest.fixture(scope="module")
def kernel():
    with warm_kernels.forked():
        manager, client = warm_kernels.started()
    shown(client, SLOW, reader=False)
    shown(client, "slow()", reader=False)
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("cell", CELLS)
def test_below_a_cell_it_is_seen_by_a_reader_and_saved_for_nobody(kernel, cell):
    saved, seen = shown(kernel, CELLS[cell], reader=False)
    assert not any("computing" in text for text in seen), "a program that runs notebooks"
    outputs, seen = shown(kernel, CELLS[cell], reader=True)
    assert any("computing" in text for text in seen) == (cell != "captured"), seen
    stays = [output for output in outputs if output != ["stdout", ""]]
    assert stays == saved and (outputs == saved or cell == "figure")
