"""The widget `watch`: what it shows of a call under way, how it ends, that Stop stops it, and that nothing of it stays behind."""

from __future__ import annotations

import json
import threading
import time
from types import SimpleNamespace

import pytest
import widget_harness
from kernel_harness import Kernel
from lanes import some
from playwright.sync_api import expect

from helpers.view import watch
from helpers.view.watch.widget import EVERY, snapshot

LIMIT = 10.0  # seconds: a guard against hangs


class Stopped(RuntimeError):
    pass


class Call:
    """Stands for a `Pending`: the same four names, moved by the test."""

    def __init__(self, nranks: int = 2):
        self.looks, self.stops, self.error, self.over = 0, 0, None, threading.Event()
        self.ranks = [
            SimpleNamespace(rank=r, pid=1, device="cpu", state="running at cell line 3", done=0, total=10)
            for r in range(nranks)
        ]

    @property
    def done(self):
        return self.over.is_set()

    def status(self):
        self.looks += 1
        return SimpleNamespace(
            label="2 ranks, gloo, CPU", state="running", seconds=1.26, startup=0.5, calls=3, ranks=tuple(self.ranks)
        )

    def result(self, timeout=None):
        if self.error:
            raise self.error
        return [1, 2]

    def stop(self):
        self.stops += 1
        self.end(Stopped("stopped after 1.3 s"))

    def end(self, error=None):
        self.error = error
        self.over.set()


def until(true, limit=LIMIT):
    end = time.monotonic() + limit
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def watchers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "ranks-watch"]


@pytest.fixture
def call():
    """A call under way; whatever watches it is gone at the end."""
    made = Call()
    yield made
    made.over.set()
    until(lambda: not watchers())


def test_a_snapshot_is_plain_data(call):
    call.ranks[1].done = 4
    assert json.loads(json.dumps(snapshot(call))) == {
        "phase": "running",
        "label": "2 ranks, gloo, CPU",
        "seconds": 1.3,
        "startup": 0.5,
        "calls": 3,
        "ranks": [
            {"rank": 0, "state": "running at cell line 3", "done": 0, "total": 10},
            {"rank": 1, "state": "running at cell line 3", "done": 4, "total": 10},
        ],
        "outcome": "",
    }


@pytest.mark.parametrize(
    ("error", "phase", "outcome"),
    [
        (None, "done", "2 results: [1, 2]"),
        (Stopped("stopped after 1 s"), "stopped", "stopped after 1 s"),
        (RuntimeError("rank 1 died: SIGKILL"), "failed", "RuntimeError: rank 1 died: SIGKILL"),
        (KeyboardInterrupt(), "failed", "KeyboardInterrupt: "),
    ],
)
def test_the_end_is_shown(call, error, phase, outcome):
    shown = watch(call)
    assert shown.call["phase"] == "running"
    call.end(error)
    until(lambda: shown.call["phase"] != "running")
    assert (shown.call["phase"], shown.call["outcome"]) == (phase, outcome)


def test_long_results_are_shown_in_short(call):
    call.result = lambda: [list(range(1000))] * 64
    call.end()
    assert len(watch(call).call["outcome"]) < 200


def test_it_follows_the_call_five_times_a_second(call):
    shown = watch(call)
    seen = []
    shown.observe(lambda change: seen.append(change["new"]["ranks"][0]["done"]), "call")
    for done in (3, 7):
        call.ranks[0].done = done
        until(lambda done=done: done in seen)
    call.looks, began = 0, time.monotonic()
    until(lambda: call.looks == 5)
    assert time.monotonic() - began >= 4 * EVERY  # never more often


def test_the_thread_ends_with_the_call(call):
    watch(call)
    assert len(watchers()) == 1
    call.end()
    until(lambda: not watchers())
    looks = call.looks
    time.sleep(2 * EVERY)
    assert call.looks == looks


def test_the_thread_ends_when_the_widget_is_closed_and_the_call_goes_on(call):
    watch(call).close()
    until(lambda: not watchers())
    assert call.stops == 0
    assert not call.done


def test_a_call_that_is_over_needs_no_thread(call):
    call.end()
    assert watch(call).call["phase"] == "done"
    assert watchers() == []


def test_stop_stops_the_call_and_is_shown(call):
    shown = watch(call)
    shown.set_state({"stopping": True})  # what a frontend's message does
    assert call.stops == 1
    until(lambda: shown.call["phase"] == "stopped")


def test_two_watch_one_call(call):
    first, second = watch(call), watch(call)
    first.stopping = True
    until(lambda: (first.call["phase"], second.call["phase"]) == ("stopped", "stopped"))


def test_what_is_saved_is_the_same_on_every_run(call):
    one, two = watch(call), watch(Call(3))
    two._pending.end(RuntimeError("x"))
    assert repr(one) == repr(two) == "Watch(a call on ranks, watched live in a kernel)"
    assert one.html() == two.html()
    data, _ = one._repr_mimebundle_()
    assert data["text/html"] == one.html()
    assert not any(mark in one.html() for mark in ("<script", "1.3", "gloo"))


@pytest.mark.parametrize("wrong", [7, None, [1, 2]])
def test_anything_else_is_refused(wrong):
    with pytest.raises(
        TypeError, match=r"watch shows what ranks.run_async\(...\) returns, got .*, which has no status"
    ):
        watch(wrong)


@pytest.fixture
def kernel():
    made = Kernel()
    yield made
    made.close()


CELL = """
import json, os, threading, torch, torch.distributed as dist
from helpers.ranks import Ranks, progress
from helpers.view import watch
r = Ranks(2, backend="gloo", timeout=60)
def stuck():
    for step in progress(range(50)):
        if step == 7:
            dist.recv(torch.ones(4), (dist.get_rank() + 1) % 2)
pids = r.run(os.getpid)
w = watch(r.run_async(stuck))
print(json.dumps([w.model_id, pids]))
"""


def test_stop_works_in_a_real_kernel_while_all_ranks_are_blocked_in_cpp(kernel):
    model_id, pids = json.loads(kernel.run(CELL))
    while not (kernel.states and all("waiting in recv" in rank["state"] for rank in kernel.states[-1]["ranks"])):
        kernel.hear()
    last = kernel.states[-1]
    assert [(rank["done"], rank["total"]) for rank in last["ranks"]] == [(7, 50)] * 2
    assert (last["phase"], last["calls"]) == ("running", 2)
    began = time.monotonic()
    kernel.press(model_id)
    while kernel.states[-1]["phase"] != "stopped":
        kernel.hear()
    assert time.monotonic() - began < LIMIT
    assert kernel.alive(pids) == []
    assert "no thread left" in kernel.run(
        "names = [t.name for t in threading.enumerate()]\n"
        "for t in threading.enumerate():\n    if t.name in ('ranks-watch', 'ranks-call'): t.join(10)\n"
        "print('no thread left' if not any(t.name == 'ranks-watch' for t in threading.enumerate()) else names)"
    )
    assert kernel.run("print(len(r.run(os.getpid)), w.call['phase'])").split() == ["2", "stopped"]


def rank(number: int, state: str = "running at cell line 3", done: int = 0, total: int | None = None) -> dict:
    return {"rank": number, "state": state, "done": done, "total": total}


RUNNING = {
    "phase": "running",
    "label": "3 ranks, gloo, CPU",
    "seconds": 3.2,
    "startup": 0.53,
    "calls": 1,
    "outcome": "",
    "ranks": [rank(0, "waiting in all_reduce #4 of float32[1024] at cell line 7", 40, 100), rank(1, done=7), rank(2)],
}


@pytest.fixture
def open_watch(open_alone, tmp_path):
    """open_watch(call, theme=, width=) -> a page with one widget; errors and requests off the disk fail the test."""

    def open_(call, theme="light", width=1280):
        states = [{"call": call, "stopping": False}]
        return open_alone(widget_harness.write(tmp_path / "watch.html", "watch", states, theme), width)

    return open_


def tell(page, **changes):
    page.evaluate("call => models[0].set('call', call)", RUNNING | changes)


def test_every_rank_is_shown_and_follows(open_watch):
    page = open_watch(RUNNING)
    assert page.locator(".bim-title").inner_text() == "Running for 3.2 s: 3 ranks, gloo, CPU"
    rows = page.locator("tbody tr")
    assert rows.nth(0).inner_text().split("\n")[-2:] == [
        "waiting in all_reduce #4 of float32[1024] at cell line 7",
        "40 of 100",
    ]
    assert rows.nth(1).inner_text().split("\n")[-2:] == ["running at cell line 3", "7 so far"]
    bar = page.get_by_role("progressbar", name="Rank 0")
    assert (bar.get_attribute("value"), bar.get_attribute("max")) == ("40", "100")
    assert page.get_by_role("progressbar").count() == 1
    page.get_by_role("button", name="Stop").focus()
    tell(page, seconds=3.4, ranks=[rank(0, "finished", 100, 100), rank(1), rank(2, done=1, total=2)])
    assert rows.nth(0).inner_text().split("\n")[-2:] == ["finished", "100 of 100"]
    assert page.get_by_role("progressbar").count() == 2
    assert page.evaluate("document.activeElement.textContent") == "Stop"  # nothing that is focused is drawn anew


def test_nothing_moves_when_the_states_grow_or_shrink(open_watch):
    waiting = "waiting in all_reduce #4 of float32[1024] at cell line 7"
    page = open_watch({**RUNNING, "ranks": [rank(number, waiting, 40, 100) for number in range(3)]})
    table = page.locator("table")
    before = table.bounding_box()
    tell(page, ranks=[rank(number, "running", 40, 100) for number in range(3)])
    assert table.bounding_box() == before
    assert before["width"] == page.locator(".bim-scroll").bounding_box()["width"]


def test_stop_is_pressed_once_and_says_so(open_watch):
    page = open_watch(RUNNING)
    page.get_by_role("button", name="Stop").click()
    assert page.evaluate("[models[0].get('stopping'), models[0].saved]") == [True, 1]
    expect(page.get_by_role("button", name="Stopping")).to_be_disabled()
    tell(page, phase="stopped", outcome="stopped after 3.4 s")
    expect(page.get_by_role("button", name="Stop")).to_be_disabled()
    assert page.locator("pre").inner_text() == "stopped after 3.4 s"


def test_only_a_new_phase_is_said_aloud(open_watch):
    page = open_watch({**RUNNING, "phase": "starting", "ranks": [], "startup": None})
    said = page.locator("[aria-live=polite]")
    assert said.inner_text() == ""
    tell(page)
    assert said.inner_text() == "Running"
    page.evaluate("document.querySelector('[aria-live]').textContent = 'untouched'")
    tell(page, seconds=4.0)
    assert said.inner_text() == "untouched"
    tell(page, phase="failed", outcome="RankError: rank 1 died: SIGKILL")
    assert said.inner_text() == "Failed. RankError: rank 1 died: SIGKILL"
    assert page.locator(".bim-title").inner_text().startswith("Failed after 3.2 s")


def test_markup_in_an_error_is_text(open_watch):
    page = open_watch({**RUNNING, "phase": "failed", "outcome": "<img src=x onerror=alert(1)>"})
    assert page.locator("pre").inner_text() == "<img src=x onerror=alert(1)>"
    assert page.locator("pre img").count() == 0


def test_a_widget_that_is_taken_away_hears_nothing_more(open_watch):
    page = open_watch(RUNNING)
    page.evaluate("stops[0]()")
    tell(page, phase="done", outcome="3 results")
    assert page.locator(".bim-title").inner_text().startswith("Running")


@pytest.mark.parametrize("width", some([375, 1280], [375], "axe, in another shape of a widget"))
def test_nothing_overflows_and_axe_is_content(open_watch, width):
    many = [rank(r, "waiting in all_reduce #4 of float32[1024] at cell line 7", r, 64) for r in range(64)]
    page = open_watch({**RUNNING, "phase": "failed", "outcome": "RankError: " + "x" * 400, "ranks": many}, width=width)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.get_by_role("button", name="Stop").bounding_box()["height"] >= 24
    assert widget_harness.violations_in_both_themes(page) == []
