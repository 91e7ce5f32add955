"""Every widget of the course, a line each. What the site, the bundle and the tests do for a widget, they do for every line here.

A widget is a folder of `view` and its line: `NAME/NAME.mjs` and `NAME/NAME.css` draw it, `NAME/page.py` says what its directive takes
(`OPTIONS`), what the page must know first (`KNOWS`), where there is more, what it asks for when it shows it (`LATER`), and how all become
a mount (`html`). One that lives in a kernel alone has no page.py and no example.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

PAGE = 350_000  # bytes of a page, gzipped, before anybody touches it; a line may allow more
SHARED = Path(__file__).parent / "shared"


@dataclass(frozen=True)
class Widget:
    """name: its folder, its mount's kind and its directive. wears: sheets of `shared` beside its own.

    budget: bytes of its script, gzipped; page_budget: bytes of a page that holds it. example: argument, options and text of its
    directive, None where a page cannot hold it. key: what a reader presses to change what it says. package: where its folder lies.
    """

    name: str
    budget: int
    example: tuple[str, dict, str] | None
    key: str = "ArrowRight"
    wears: tuple[str, ...] = ("language.css",)
    page_budget: int = PAGE
    package: str = "helpers.view"

    @property
    def folder(self) -> Path:
        """Where its modules and its sheet lie."""
        return Path(find_spec(f"{self.package}.{self.name}").origin).parent

    @property
    def entry(self) -> Path:
        """The module that draws it."""
        return self.folder / f"{self.name}.mjs"

    @property
    def sheets(self) -> tuple[Path, ...]:
        """What it wears, in order."""
        return (*(SHARED / name for name in self.wears), self.folder / f"{self.name}.css")

    @property
    def page(self) -> ModuleType:
        """`OPTIONS`, `KNOWS` and `html`."""
        return import_module(f"{self.package}.{self.name}.page")

    def html(self) -> str:
        """The mount of its example."""
        return self.page.html(*self.example)


DRAWN = ("language.css", "drawing/drawing.css")  # with the shared drawing of schedules and strips
WIDGETS = (
    Widget("player", 25_600, ("all_reduce ring", {}, ""), wears=DRAWN, page_budget=400_000),
    Widget("primitive", 11_400, ("reduce", {"nranks": 3, "values": "1 2 3"}, ""), "ArrowDown", page_budget=400_000),
    Widget("playground", 27_000, ("all_reduce ring", {}, ""), wears=DRAWN),
    Widget("memory", 30_000, ("article-cpu article-meta", {"at": 40}, ""), page_budget=400_000),
    Widget("segments", 11_000, ("three blocks", {}, "a = 6 MiB\nb = 3 MiB\ndel a"), wears=DRAWN),
    Widget("yours", 9_000, ("", {}, ""), "ArrowDown"),
    Widget("occupancy", 6_000, ("A100", {"threads": 256, "registers": 64}, "")),
    Widget("warp", 6_100, ("memory", {"stride": 8}, "")),
    Widget("calculator", 11_400, ("Llama-2-7B", {"seq": 4096}, ""), "ArrowDown"),
    Widget("clock", 8_500, ("", {"nbytes": "64 KiB", "link": "nvlink-4"}, ""), wears=DRAWN),
    Widget("choice", 12_300, ("HGX-B200", {"nbytes": "8 MiB", "nranks": 4}, ""), wears=DRAWN),
    Widget("pipeline", 16_000, ("", {"nranks": 4, "nmicrobatches": 8}, ""), wears=DRAWN),
    Widget("routing", 7_200, ("", {"tokens": 8, "skew": 50}, ""), wears=DRAWN),
    Widget("published", 12_500, ("", {}, ""), wears=DRAWN),
    Widget("holds", 12_000, ("zero-3", {"beside": "ddp", "at": 14}, ""), wears=DRAWN),
    Widget("mesh", 9_000, ("data=2 pipeline=2 tensor=2", {}, ""), "ArrowDown"),
    Widget("overlap", 10_500, ("buckets", {"bucket": "200 MiB"}, ""), wears=DRAWN),
    Widget("watch", 3_000, None),
)


def line(name: str) -> Widget:
    """The line of that name. KeyError naming those there are."""
    lines = {widget.name: widget for widget in WIDGETS}
    if name not in lines:
        raise KeyError(f"no widget {name!r}; there are: {', '.join(lines)}")
    return lines[name]


def mounted() -> list[Widget]:
    """The widgets that a page may hold."""
    return [widget for widget in WIDGETS if widget.example]


def kinds() -> list[str]:
    """What a mount may be: a widget, or a chart."""
    return [*(widget.name for widget in mounted()), "chart"]
