"""Ranks: a warm pool of processes, one per rank, that run a function of the notebook together. Chapter: ranks."""

from __future__ import annotations

import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NoReturn

from helpers.ranks.hangs.verdict import RankError
from helpers.ranks.machine import devices, launched, limits
from helpers.ranks.network import asked
from helpers.ranks.network.ports import Wires
from helpers.ranks.wire.pack import pack_call
from helpers.ranks.worker import inside

from . import given, looking
from .call import Call, Order
from .interrupts import Hold
from .judge import judge
from .launch import Team
from .pending import Pending
from .status import Status
from .turn import Turn

START_LIMIT = 120.0  # seconds for all ranks to meet; NCCL on 8 GPUs may take several
STOP_LIMIT = 5.0  # seconds that close() gives a call of another thread to notice that its ranks are gone
STARTED: dict[str, None] = {}  # the label of all ranks that this process has started, each once


class Ranks:
    """n processes, each a rank of one torch.distributed group. Use as a context manager, or call close().

    n, timed, any_of: as `world` takes them, which says what will start. backend: "nccl" or "gloo", else by what is here.
    env: environment of the ranks, set before the group forms. timeout: seconds that a rank may be inside one collective.
    link: a network to emulate between CPU ranks: a `Link`, or anything with link(src, dst), as `price` takes it.
    Raises TypeError or ValueError on bad input, before anything starts. Chapters: ranks, ring, latency-bandwidth.
    """

    def __init__(
        self,
        n: int | None = None,
        *,
        backend: str | None = None,
        timed: bool = False,
        any_of: Iterable[int] | None = None,
        env: dict[str, str] | None = None,
        timeout: float = 10.0,
        link: object | None = None,
    ):
        if launcher := launched.launcher():
            raise RuntimeError(f"{launcher} has started this process as a rank: use `with job() as j:`, not Ranks()")
        if inside.in_rank():
            raise RuntimeError("a rank cannot start ranks of its own: call Ranks in the notebook")
        self.world = devices.plan(n, backend, timed=timed, any_of=any_of)
        plain = self.world.label  # without a network that is emulated
        self.timeout = given.seconds("timeout", timeout, given.LONGEST)
        self._env = given.strings({} if env is None else env)
        self._link = None
        if link is not None:
            self.world, self._link = asked.emulated(self.world, link)
        self._busy = threading.Lock()
        self._turn: Turn | None = None
        self._call: Call | None = None  # of that turn, once the ranks have met
        self._closed = False
        self._details = "no call has failed"
        self._team: Team | None = None
        try:
            with Hold() as hold:
                self._start(hold)
        except BaseException:  # perhaps an interrupt that came last of all: its traceback would keep the ranks alive
            self.close()
            raise
        STARTED[plain] = None

    @property
    def nranks(self) -> int:
        return self.world.nranks

    @property
    def backend(self) -> str:
        return self.world.backend

    @property
    def devices(self) -> tuple[str, ...]:
        return self.world.devices

    @property
    def label(self) -> str:
        """What the results were obtained on: "4 ranks, gloo, CPU"."""
        return self.world.label

    @property
    def network(self) -> Wires | None:
        """The emulated network between these ranks as plain numbers, if there is one."""
        return self._link

    def __repr__(self) -> str:
        return f"{self.label} (closed)" if self._closed else self.label

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "these ranks are the notebook's; inside a rank ask torch.distributed: get_rank(), get_world_size()"
        )

    def run(
        self,
        fn: Callable[..., Any],
        *args: Any,
        limit: float | None = None,
        on_emit: Callable[[int, Any], None] | None = None,
        live: bool = False,
        **kwargs: Any,
    ) -> list[Any]:
        """Call fn(*args, **kwargs) on every rank at once; returns their results in rank order, after printing their output.

        limit: seconds for the whole call (None: no limit; only `timeout` inside a collective). on_emit(rank, obj): called
        here for every `emit(obj)` while the call runs; a rank's own threads may emit on, and reach the next call's. live: the
        output's lines are shown as they come, all of them. Raises PackError when something cannot be sent, RankError when a
        rank fails; after that the next call starts the ranks afresh if need be. An interrupt ends the ranks.
        """
        self._refuse_if_closed()
        order, message = self._order(limit, on_emit, live), pack_call(fn, args, kwargs)
        try:
            with Hold() as hold:
                return self._serve(self._take_turn(), order, message, hold)
        except RankError as error:
            # IPython keeps the last error, which must not keep the ranks alive
            traceback.clear_frames(error.__traceback__)
            del self
            raise

    def run_async(
        self,
        fn: Callable[..., Any],
        *args: Any,
        limit: float | None = None,
        on_emit: Callable[[int, Any], None] | None = None,
        live: bool = False,
        **kwargs: Any,
    ) -> Pending:
        """`run` in the background: returns at once what the call can be watched, awaited and stopped by."""
        self._refuse_if_closed()
        order, message = self._order(limit, on_emit, live), pack_call(fn, args, kwargs)
        with Hold():
            turn = self._take_turn(watched=True)

            def serve() -> list[Any]:
                turn.adopt()
                return self._serve(turn, order, message, Hold())

            def stop() -> None:
                self._end_turn(turn, "stopped")

            try:
                return Pending(self.label, turn, serve, stop, self.status)
            except BaseException:  # no thread can be had
                self._give_back(turn)
                raise

    def status(self) -> Status:
        """What every rank is doing at this moment: from any thread, also while a call runs, which is not disturbed."""
        return looking.look(self.label, self._team, self._turn, self._call, self._closed)

    def details(self) -> str:
        """Everything about the last call that failed: every rank's state, traceback, latest operations, stack and output."""
        return self._details

    def close(self) -> None:
        """End the ranks, and a call that still runs. Nothing of them is left when this returns; closing twice is fine."""
        self._closed = True
        with Hold():
            if turn := self._turn:
                self._end_turn(turn, "the ranks were closed")
                turn.wait(STOP_LIMIT)
            if not self._turn:
                self._stop()

    def __enter__(self) -> Ranks:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise RuntimeError("these ranks are closed: make new ones with Ranks()")

    def _order(self, limit: object, on_emit: object, live: object) -> Order:
        if on_emit is not None and not callable(on_emit):
            raise TypeError(f"on_emit is a function of (rank, object) or None, got {on_emit!r}")
        if not isinstance(live, bool):
            raise TypeError(f"live is True or False, got {live!r}")
        return Order(self.timeout, None if limit is None else given.seconds("limit", limit), on_emit, live)

    def _take_turn(self, watched: bool = False) -> Turn:
        if not self._busy.acquire(blocking=False):
            raise RuntimeError(
                "these ranks are in a call already: wait for its result(), stop() it, or make a second Ranks()"
            )
        self._turn = Turn(watched)
        return self._turn

    def _end_turn(self, turn: Turn, why: str) -> None:
        """At once, whatever the ranks and the notebook's own callback are doing. Twice is fine."""
        turn.stop(why)
        if team := self._team:
            team.hang_up()

    def _give_back(self, turn: Turn) -> None:
        self._turn = self._call = None
        if self._closed:  # meanwhile, and whoever closed them could not wait
            self._stop()
        self._busy.release()
        turn.end()

    def _serve(self, turn: Turn, order: Order, message: bytes, hold: Hold) -> list[Any]:
        """One call from first to last, in whichever thread. Entered with interrupts held: they land where `hold` is open."""
        try:
            self._refuse_if_closed()
            if self._team is None:
                self._start(hold)
            if not self._team.ready:
                self._finish(Call(self._team, Order(START_LIMIT, START_LIMIT), turn, hold))
                self._team.ready = True
            self._call = Call(self._team, order, turn, hold)
            return self._finish(self._call, message)
        finally:
            self._give_back(turn)

    def _finish(self, call: Call, message: bytes | None = None) -> list[Any]:
        """Send the call if there is a message, wait for it and judge it. The ranks go on only when all of them are known to be sound."""
        sound = False
        try:
            if message is not None:
                call.send(message)
            call.gather(partial(looking.line, call))
            results, error = judge(call)
            sound = error is None or error.sound
        finally:
            text = "" if call.starting and sound else call.said()
            if call.turn.watched and not (call.starting and sound):
                call.turn.last = looking.end(self.label, call)
            if not sound:
                self._stop()
            if text:
                sys.stdout.write(text)
        if error:
            self._details = error.details()
            raise error
        return results

    def _start(self, hold: Hold) -> None:
        try:
            self._team = Team(self.world, self._env, self.timeout, self._link)
            self._finalizer = weakref.finalize(self, self._team.kill)
            self._team.start(hold)
        except BaseException as error:
            self._stop()
            traceback.clear_frames(error.__traceback__)  # a half started process keeps the ends of its pipes
            if isinstance(error, Exception):
                raise limits.with_remedy(error) from error.__cause__
            raise

    def _stop(self) -> None:
        team, self._team = self._team, None
        if team:
            self._finalizer.detach()
            team.kill()
