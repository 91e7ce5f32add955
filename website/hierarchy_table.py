"""Two generated tables: the memory hierarchy of some accelerators, and their ridge points by type. Every number is a fact or derived.

```{hierarchy} A100 H100 B200
```
```{ridges} bf16 fp8
:only: A100 H100
```
"""

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from helpers.facts import ACCELERATORS, DTYPES, Accelerator, Fact
from helpers.facts.levels import FORMULAS, NAMES, Level, levels
from helpers.units import GB, Bandwidth, nbytes_text
from website.algorithms import row

log = logging.getLogger(__name__)
TB = 10**12


class AcceleratorsDirective(SphinxDirective):
    """A table about accelerators; an unknown one is a warning, so the build fails."""

    required_arguments = 0
    optional_arguments = 1
    final_argument_whitespace = True

    def names(self, asked: list[str], known: tuple[str, ...]) -> list[str]:
        """Those asked for, all where none is; ValueError on one that is not known."""
        wrong = [name for name in asked if name not in known]
        if wrong:
            raise ValueError(f"unknown {', '.join(wrong)}: expected some of {', '.join(known)}")
        return asked or list(known)

    def tables(self) -> list[nodes.Node]:
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        try:
            return self.tables()
        except ValueError as error:
            log.warning("%s: %s", self.name, error, location=self.get_location(), type="bim", subtype=self.name)
            return []


class HierarchyDirective(AcceleratorsDirective):
    """{hierarchy} A100 H100 B200: a row per level, a column per accelerator, and how the derived bandwidths were derived."""

    def tables(self) -> list[nodes.Node]:
        gpus = [ACCELERATORS[name] for name in self.names(" ".join(self.arguments).split(), tuple(ACCELERATORS))]
        columns = [{level.name: level for level in levels(gpu)} for gpu in gpus]
        names = [name for name in NAMES if any(name in column for column in columns)]
        rows = [
            [head(name), *(level_cell(gpu, column.get(name)) for gpu, column in zip(gpus, columns, strict=True))]
            for name in names
        ]
        return [table("bim-levels", [[text("Level")], *(gpu_head(gpu) for gpu in gpus)], rows), legend()]


class RidgesDirective(AcceleratorsDirective):
    """{ridges} bf16 fp8: FLOP per byte by accelerator and type; `:only:` names the accelerators."""

    option_spec: ClassVar[dict[str, Any]] = {"only": directives.unchanged_required}

    def tables(self) -> list[nodes.Node]:
        dtypes = self.names(" ".join(self.arguments).split(), DTYPES)
        gpus = [ACCELERATORS[n] for n in self.names(self.options.get("only", "").split(), tuple(ACCELERATORS))]
        rows = [[gpu_head(gpu), [cited(gpu.hbm)], *(ridge_cell(gpu, dtype) for dtype in dtypes)] for gpu in gpus]
        heads = [[text("Accelerator")], [text("Bandwidth, reads and writes")], *([text(dtype)] for dtype in dtypes)]
        counted = "FLOP (for int8: operations)" if "int8" in dtypes else "FLOP"
        said = (
            f"{counted} per byte of memory: dense peak ÷ bandwidth. A dash: no source that was read gives such a peak."
        )
        return [table("bim-ridges", heads, rows), note(said)]


def level_cell(gpu: Accelerator, level: Level | None) -> list[nodes.Node]:
    """ "256 KiB per SM, 27 MiB in all" and the bandwidth with how it is known; a dash where the chip has no such level."""
    if level is None:
        return [text("–")]
    each = f"{nbytes_text(level.per_unit)} per {gpu.unit}, " if level.per_unit else ""
    sources = "; ".join(dict.fromkeys(fact.source_title for fact in level.facts))
    link = level.facts[0]
    size = nodes.reference("", nbytes_text(level.in_all), refuri=link.source_url, reftitle=link.source_title)
    lines = [nodes.paragraph("", "", nodes.Text(each), size, nodes.Text(" in all" if each else ""))]
    if level.bandwidth is None:
        return [*lines, text("bandwidth not published")]
    if level.published:
        return [*lines, cited(level.facts[-1])]
    share = level.bandwidth / gpu.sms.quantity if level.per_unit else None
    each = f"{bandwidth(share)} per {gpu.unit}, " if share else ""
    said = f"{each}{bandwidth(level.bandwidth)}{' in all' if each else ''}, {ways(level.bandwidth)}, derived"
    shown = nodes.abbreviation("", said, explanation=f"{level.formula}. {sources}")
    return [*lines, nodes.paragraph("", "", shown)]


def ridge_cell(gpu: Accelerator, dtype: str) -> list[nodes.Node]:
    """The ridge as a link to where the peak stands; the peak itself on hover."""
    if dtype not in gpu.flops:
        return [text("–")]
    peak = gpu.flops[dtype]
    said = f"{peak}{f' ({peak.note})' if peak.note else ''}: {peak.source_title}"
    link = nodes.reference("", f"{gpu.ridge(dtype):.3g}", refuri=peak.source_url, reftitle=said, classes=["bim-fact"])
    return [nodes.paragraph("", "", link)]


def gpu_head(gpu: Accelerator) -> list[nodes.Node]:
    return [nodes.paragraph("", "", nodes.abbreviation("", gpu.name, explanation=f"{gpu.title}, {gpu.sms}"))]


def cited(fact: Fact) -> nodes.paragraph:
    """A published bandwidth, short, with its source one click away."""
    shown = f"{fact.value:.4g} {fact.unit}"
    said = f"{fact}{f'; {fact.note}' if fact.note else ''}: {fact.source_title}"
    return nodes.paragraph(
        "", "", nodes.reference("", shown, refuri=fact.source_url, reftitle=said, classes=["bim-fact"])
    )


def bandwidth(value: Bandwidth) -> str:
    """ "19.5 TB/s" or "180 GB/s"."""
    return f"{value.value / TB:.3g} TB/s" if value.value >= TB else f"{value.value / GB:.3g} GB/s"


def ways(value: Bandwidth) -> str:
    return "reads" if value.direction == "one way" else "both ways"


def legend() -> nodes.paragraph:
    derived = ". ".join(f"{name}: {formula}" for name, formula in FORMULAS.items())
    known = "Linked bandwidths are published, both ways; derived ones follow from published numbers"
    return note(f"{known}. {derived}.")


def note(words: str) -> nodes.paragraph:
    return nodes.paragraph("", words, classes=["bim-caption"])


def text(words: str) -> nodes.paragraph:
    return nodes.paragraph(text=words)


def head(words: str) -> list[nodes.Node]:
    return [nodes.paragraph("", "", nodes.strong(text=words))]


def table(kind: str, heads: list[list[nodes.Node]], rows: list[list[list[nodes.Node]]]) -> nodes.table:
    """A docutils table of cells that are lists of nodes, of a class of its own."""
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in heads), cols=len(heads))
    group += nodes.thead("", row(heads))
    group += nodes.tbody("", *map(row, rows))
    return nodes.table("", group, classes=[kind, "colwidths-auto"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Both directives."""
    app.add_directive("hierarchy", HierarchyDirective)
    app.add_directive("ridges", RidgesDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
