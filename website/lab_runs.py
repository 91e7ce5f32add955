"""Which lab ran from end to end on how many GPUs, by its records: the table of page recorded-runs, and two rows of each lab's card.

```{lab-runs}
```
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from helpers.records import Record, RecordError, lab_runs, lab_seconds
from helpers.records.labs import GPUS
from website.hierarchy_table import table, text
from website.recorded_runs import when

log = logging.getLogger(__name__)
NEVER = "never"
TABLE = "book/recorded-runs"
Runs = dict[tuple[str, int], Record]


class LabRunsDirective(SphinxDirective):
    """{lab-runs}: a row per lab, a column per number of GPUs, and above it what the letters stand for."""

    def run(self) -> list[nodes.Node]:
        try:
            runs = runs_of(Path(self.env.srcdir, "recorded"))
        except RecordError as error:
            log.warning("%s", error, location=self.get_location(), type="bim", subtype="recorded")
            return []
        self.env.note_reread()  # another record changes it
        letters = {made: letter(i) for i, made in enumerate(dict.fromkeys(map(where, runs.values())))}
        labs = sorted(PurePosixPath(name).name for name in self.env.found_docs if name.startswith("notebooks/"))
        heads = [[text(words)] for words in ("Lab", *map(gpus, GPUS))]
        rows = [[[title(lab)], *([cell(runs.get((lab, n)), letters)] for n in GPUS)] for lab in labs]
        legend = [nodes.list_item("", text(f"{short}: {made}")) for made, short in letters.items()]
        return [nodes.bullet_list("", *legend), table("bim-lab-runs", heads, rows)]


def cell(run: Record | None, letters: dict[str, str]) -> nodes.paragraph:
    """The day and a letter for all else."""
    if run is None:
        return nodes.paragraph("", "", nodes.inline("", NEVER, classes=["bim-never"]))
    told = when(run)
    told += nodes.Text(f" {letters[where(run)]}{aside(run)}")
    return told


def aside(run: Record) -> str:
    """Said where GPUs were there and the lab took none."""
    return ", on the CPU" if run.on_cpu and not run.name.endswith("-0") else ""


def where(run: Record) -> str:
    """Card or processor, torch, NCCL: what the days of a letter have in common."""
    return f"{run.machine}; {run.versions}"


def letter(i: int) -> str:
    """A to Z, AA to AZ, BA and so on."""
    return (letter(i // 26 - 1) if i >= 26 else "") + chr(ord("A") + i % 26)


def gpus(n: int) -> str:
    return "No GPU" if n == 0 else f"{n} GPU{'s' * (n > 1)}"


def title(lab: str) -> nodes.paragraph:
    """A link to a lab, by its stem."""
    attributes = {"refdomain": "std", "reftype": "doc", "reftarget": f"/notebooks/{lab}", "refexplicit": True}
    return nodes.paragraph("", "", addnodes.pending_xref("", nodes.inline("", lab), **attributes))


def ran(env: BuildEnvironment) -> list[tuple[str, nodes.paragraph]]:
    """The row of a lab's card, and of its chapter's: on which numbers of GPUs it has run, by the same records as the table."""
    page = PurePosixPath(env.docname)
    if f"notebooks/{page.name}" not in env.found_docs:
        return []
    words = nodes.inline("", in_words(page.name, runs_of(Path(env.srcdir, "recorded"))))
    if TABLE in env.found_docs:
        words = addnodes.pending_xref("", words, refdomain="std", reftype="ref", reftarget="lab-runs", refexplicit=True)
    return [("Lab ran" if page.parent.name == "book" else "Ran", nodes.paragraph("", "", words))]


def in_words(lab: str, runs: Runs) -> str:
    """ "no GPU 2026-11-27; 1 GPU 2026-12-01; 2, 4, 8 GPUs never"."""
    there = [n for n in GPUS if (lab, n) in runs]
    days = [f"{gpus(n)} {runs[lab, n].date}{aside(runs[lab, n])}" for n in there]
    rest = ", ".join(str(n) for n in GPUS if n not in there)
    return "; ".join([*days, *([f"{rest} GPUs {NEVER}"] if rest else [])])


def lasts(env: BuildEnvironment) -> str:
    """How long the lab of this page takes, by its records of 2, 4 and 8 ranks; "" where it has none."""
    return minutes(lab_seconds(Path(env.srcdir, "recorded")).get(PurePosixPath(env.docname).name, {}))


def longest(env: BuildEnvironment) -> int:
    """Whole minutes of the longest of those records, 0 where the lab has none."""
    runs = lab_seconds(Path(env.srcdir, "recorded")).get(PurePosixPath(env.docname).name, {})
    return max((max(1, round(run["data"]["seconds"] / 60)) for run in runs.values()), default=0)


def minutes(runs: Mapping[int, Mapping[str, Any]]) -> str:
    """ "1 min with 2 or 4 ranks, 3 min with 8, on 2 cores"; of a lab that starts no ranks "1 min, on 2 cores"."""
    alike: dict[int, list[str]] = {}
    for nranks, run in sorted(runs.items()):
        alike.setdefault(max(1, round(run["data"]["seconds"] / 60)), []).append(str(nranks))
    told = [f"{n} min with {' or '.join(ranks)}" for n, ranks in alike.items()]
    told[:1] = [f"{first} ranks" for first in told[:1]]
    if not any("rank" in run["label"] for run in runs.values()):
        told = [f"{n} min" for n in alike]
    cores = {run["machine"]["cores"] for run in runs.values()}
    return ", ".join([*told, *(f"on {n} cores" for n in cores)])


@lru_cache(maxsize=2)
def runs_of(folder: Path) -> Runs:
    """Read once in a build."""
    return lab_runs(folder)


def setup(app: Sphinx) -> dict[str, bool]:
    """The directive."""
    app.add_directive("lab-runs", LabRunsDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
