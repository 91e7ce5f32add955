"""A fault report is one file: it is found, asked at its moment and in its order, and speaks in a real error."""

from __future__ import annotations

import pkgutil

import pytest
import torch
import torch.distributed as dist

from helpers.ranks import RankError, Ranks
from helpers.ranks.hangs import reporting, reports
from helpers.ranks.hangs.reporting import Evidence, When, report
from helpers.ranks.notes.notes import Journal, Note, State

PLANTED = '''"""Rank 1 has entered a barrier. Chapter: hangs."""

from helpers.ranks.hangs.reporting import Evidence, When, report


@report(When.ALL_FINISHED, order=0)
def barred(evidence: Evidence) -> str | None:
    """In words."""
    ops = [note.op for note in evidence.journals[1].notes]
    return "rank 1 has met a barrier" if "barrier" in ops else None
'''


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A file more in the room; nothing else names it."""
    (tmp_path / "planted_report.py").write_text(PLANTED)
    monkeypatch.setattr(reports, "__path__", [*reports.__path__, str(tmp_path)])
    monkeypatch.setattr(reporting, "REPORTS", list(reporting.REPORTS))
    reporting._load.cache_clear()
    yield
    reporting._load.cache_clear()


def test_every_file_of_the_room_registers_one_report():
    evidence = Evidence([])
    assert reporting.first(When.ALL_FINISHED, evidence) is None
    homes = [known.find.__module__ for known in reporting.REPORTS]
    files = [f"{reports.__name__}.{module.name}" for module in pkgutil.iter_modules(reports.__path__)]
    assert sorted(homes) == sorted(files)
    places = [(known.when, known.order) for known in reporting.REPORTS]
    assert len(set(places)) == len(places), "who is asked first is never left to chance"


def test_a_planted_report_speaks_in_a_calls_error(planted):
    def met():
        dist.barrier()
        if dist.get_rank() == 1:
            dist.isend(torch.ones(1), 0)  # nobody receives it, and nobody waits: all ranks finish

    with Ranks(2) as ranks, pytest.raises(RankError, match=r"^rank 1 has met a barrier"):
        ranks.run(met)


def test_reports_speak_at_their_own_moment_and_in_order(monkeypatch):
    monkeypatch.setattr(reporting, "REPORTS", [])
    for order, says in ((2, "second"), (1, None), (3, "third")):
        report(When.NOTHING_MOVES, order, certain=order == 3)(lambda _, says=says: says)
    journal = Journal((Note("barrier", 1, "", "", "", "", "", State.INSIDE, 0.0),), 1, 0, 0)
    evidence = Evidence([journal, None])
    assert reporting.first(When.NOTHING_MOVES, evidence) == "second"
    assert reporting.certain(evidence) == "third"
    assert reporting.first(When.ALL_FINISHED, evidence) is None
