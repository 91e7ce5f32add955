"""A recorded run as a line of a list: what ran, on what, when, by which command; read from the file itself. Page: recorded-runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.records.whole import KINDS, files_of, kind_of, whole

FOLDER = Path(__file__).resolve().parents[2] / "recorded"


@dataclass(frozen=True)
class Record:
    """path: under recorded/, with slashes. kind: a key of `whole.KINDS`. what: its label, or what a published table means.

    machine, versions, date, command: as the file says; None where it does not. title, url: of the page that published it.
    """

    path: str
    kind: str
    what: str
    machine: str | None
    versions: str | None
    date: str | None
    command: str | None
    title: str | None = None
    url: str | None = None

    @property
    def name(self) -> str:
        """As pages call it: without folder and ending."""
        return Path(self.path).name.partition(".")[0]

    @property
    def asked(self) -> str:
        """As pages ask for it: of a trace without its rank."""
        return self.name.rpartition("-")[0] if self.kind == "trace" else self.name

    @property
    def on_cpu(self) -> bool:
        """Of a lab's run: whether nothing of it ran on a GPU, though there may have been some."""
        return all(label.endswith("CPU") for label in self.what.split("; "))


def records(folder: Path = FOLDER) -> list[Record]:
    """Every file that holds a run, recursively, by kind and then by path. RecordError on one that is not whole."""
    found = [record_of(path, folder) for path in files_of(folder)]
    return sorted(found, key=lambda one: (list(KINDS).index(one.kind), one.path))


def lab_runs(folder: Path = FOLDER) -> dict[tuple[str, int], Record]:
    """The latest run of every lab on every number of GPUs; of two of one day ours. RecordError on one that is not whole."""
    paths = [*sorted(folder.glob("from/*/labs/*.json")), *sorted(folder.glob("labs/*.json"))]
    found = [record_of(path, folder) for path in paths if not path.stem.endswith("ranks")]
    found.sort(key=lambda one: one.date or "")
    named = ((one.name.rpartition("-"), one) for one in found)
    return {(lab, int(gpus)): one for (lab, _, gpus), one in named}


def lab_seconds(folder: Path = FOLDER) -> dict[str, dict[int, Mapping[str, Any]]]:
    """What the runs of every lab on 2, 4 and 8 CPU ranks say, by lab and ranks. RecordError on one that is not whole."""
    found: dict[str, dict[int, Mapping[str, Any]]] = {}
    for path in folder.glob("labs/*ranks.json"):
        lab, _, number = path.stem.removesuffix("ranks").rpartition("-")
        found.setdefault(lab, {})[int(number)] = whole(path, folder)
    return found


def record_of(path: Path, folder: Path = FOLDER) -> Record:
    """What one file says of itself. RecordError where it is not whole."""
    data, place = whole(path, folder), path.relative_to(folder)
    kind = kind_of(place)
    return Record(path=place.as_posix(), kind=kind, **_READ[kind](data, place))


def _run(data: Mapping[str, Any], _: Path) -> dict[str, Any]:
    versions = ", ".join(f"{name} {version}" for name, version in data["versions"].items())
    told = {"machine": _machine(data["machine"]), "versions": versions, "date": data["date"]}
    return {"what": data["label"], "command": data["command"], **told}


def _machine(machine: Mapping[str, Any]) -> str:
    """The GPUs, else the processor with its cores and memory."""
    gpus: list[str] = machine["gpus"]
    if gpus:
        return ", ".join(f"{gpus.count(name)} x {name}" for name in dict.fromkeys(gpus))
    return f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB"


def _traced(data: Mapping[str, Any], _: Path) -> dict[str, Any]:
    told = _run(data["recorded"], _)
    return told | {"what": f"{data['recorded']['what']}; rank {data['distributedInfo']['rank']}"}


def _published(data: Mapping[str, Any], _: Path) -> dict[str, Any]:
    source = data["source"]
    day = data["measured"] or (f"published {source['date']}" if source["date"] else None)
    told = {"machine": data["machine"], "versions": data["software"], "date": day}
    return {"what": data["meaning"], "command": data["command"], "title": source["title"], "url": source["url"], **told}


def _predicted(data: Mapping[str, Any], _: Path) -> dict[str, Any]:
    versions, device = (
        f"torch {data['machine']['torch']}",
        f"torch's {data['machine']['device']} device, which computes nothing",
    )
    return {"what": data["label"], "machine": device, "versions": versions, "date": None, "command": data["command"]}


_READ: Mapping[str, Callable[[Any, Path], dict[str, Any]]] = {
    "run": _run,
    "lab": _run,
    "torch": _run,
    "memory": _run,
    "reader": _run,
    "predicted": _predicted,
    "published": _published,
    "trace": _traced,
}
