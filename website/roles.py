"""What nobody typed into prose: {fact}`H100.nvlink` and {article}`name` from helpers.facts, {recorded}`run:key:.1f`, {count}`labs`."""

import json
from pathlib import Path, PurePath
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from helpers import facts
from helpers.collectives import CATALOGUE
from website.conventions import VALUE

log = logging.getLogger(__name__)

# The kind of time of a fact by its own kind: what a maker specifies is as it is; bytes are of hardware, or of a rule.
TIMES = {"spec": "given", "achievable": "published", "modelled": "nccl", "measured": "measured", "fitted": "fitted"}


class FactRole(SphinxRole):
    """{fact}`H100.nvlink`: the value with unit and direction, its source one hover or click away.

    {fact}`A100.sms amount`: without "per GPU", where the sentence says so. {fact}`rent.cloud times 8`: what eight GPU-hours cost.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        key, _, form = self.text.strip().partition(" ")
        try:
            fact = facts.lookup(key)
            text = told(fact, form)
        except (KeyError, ValueError) as error:
            return unknown(self, str(error.args[0]))
        note = f"{fact.kind}: {fact.source_title}"
        said = {VALUE: {"time": TIMES[fact.kind], "types": "size", **({"pairs": fact.pairs} if fact.pairs else {})}}
        return [nodes.reference("", text, refuri=fact.source_url, reftitle=note, classes=["bim-fact"], **said)], []


def told(fact: facts.Fact, form: str) -> str:
    """A fact as a page asks for it. KeyError for an unknown form, ValueError for one that this fact does not have."""
    if form.startswith("times "):
        return fact.times(form.removeprefix("times "))
    if form not in ("", "amount"):
        raise KeyError(f"a fact is told whole, its `amount`, or `times` a number, not its {form!r}")
    return fact.amount if form else fact.text


class ArticleRole(SphinxRole):
    """{article}`gpu-memory-distributed`: an article by its author and title, linked; a source that says who it is `by`."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        source = facts.SOURCES.get(self.text)
        if source is None or not source.by:
            articles = ", ".join(name for name, one in facts.SOURCES.items() if one.by)
            return unknown(self, f"no article {self.text!r}; there are: {articles}")
        title = nodes.reference("", "", nodes.emphasis("", source.title), refuri=source.url)
        return [nodes.Text(f"{source.by}'s article "), title], []


class RecordedRole(SphinxRole):
    """{recorded}`name:key.path:format`: one value of a recorded run, with its machine and date on hover."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        name, _, rest = self.text.strip().partition(":")
        key, _, spec = rest.partition(":")
        try:
            run = load_run(Path(self.env.srcdir, "recorded"), name)
            text = format(pick(run, key), spec)
        except (KeyError, ValueError) as error:
            return unknown(self, str(error.args[0]))
        return [
            nodes.abbreviation("", text, explanation=provenance(run), classes=["bim-recorded"], **{VALUE: said(run)})
        ], []


class CountRole(SphinxRole):
    """{count}`chapters`: how many chapters the book has, pages with a lab of their name; or its `labs`, or the catalogue's `algorithms`."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        self.env.note_reread()  # a page that is new changes this one
        labs = {PurePath(name).name for name in self.env.found_docs if name.startswith("notebooks/")}
        chapters = [name for name in labs if f"book/{name}" in self.env.found_docs]
        counts = {"chapters": len(chapters), "labs": len(labs), "algorithms": len(CATALOGUE)}
        if self.text not in counts:
            return unknown(self, f"count takes one of {', '.join(counts)}, got {self.text!r}")
        return [nodes.Text(str(counts[self.text]))], []


def load_run(folder: Path, name: str) -> dict[str, Any]:
    """The recorded run of that name, wherever under recorded/ it lies; a reader's with its folder, `from/8xh200/gpu-bandwidth`.

    KeyError naming those there are.
    """
    paths = sorted(folder.rglob("*.json"))
    of_readers = {path for path in paths if path.is_relative_to(folder / "from")}
    runs = {path.stem: path for path in paths if path not in of_readers}
    runs |= {path.relative_to(folder).with_suffix("").as_posix(): path for path in of_readers}
    if name not in runs:
        raise KeyError(f"no recorded run {name!r}; there are: {', '.join(runs) or 'none'}")
    return json.loads(runs[name].read_text(encoding="utf-8"))


def pick(value: Any, key: str) -> Any:
    """Walk a dotted key (`rows.3.busbw`) into a recorded run. Raises KeyError naming the step that fails."""
    for step in key.split("."):
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (KeyError, IndexError, TypeError, ValueError):
            raise KeyError(f"no {step!r} of {key!r} in the recorded run") from None
    return value


def provenance(run: dict[str, Any]) -> str:
    """Where a recorded number comes from, in one line: what ran, on which machine, when, and who published it."""
    machine = run.get("machine", "")
    if isinstance(machine, dict):
        machine = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in machine.items() if value)
    said = [run.get("label"), machine, run.get("date") or run.get("measured"), run.get("source", {}).get("title")]
    return "recorded: " + ("; ".join(str(part) for part in said if part) or "see the recorded run")


def said(run: dict[str, Any]) -> dict[str, str]:
    """What a recorded value says beside its unit: its times are measured, and a trace of memory names the types it was taken with."""
    data = run.get("data")
    traces = data.get("ranks", []) if isinstance(data, dict) else []
    precision = traces[0].get("about", {}).get("precision") if traces and isinstance(traces[0], dict) else None
    return {"time": "measured", **({"types": precision} if precision else {})}


def unknown(role: SphinxRole, message: str) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """A key that is not there: a warning, so the build fails, and the raw text on the page."""
    log.warning("%s", message, location=role.get_location(), type="bim", subtype="key")
    return [nodes.literal("", role.text)], []


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the roles."""
    app.add_role("fact", FactRole())
    app.add_role("article", ArticleRole())
    app.add_role("recorded", RecordedRole())
    app.add_role("count", CountRole())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
