"""The extension without a browser: what it refuses, what it writes, and that every link leads somewhere."""

import hashlib
import json
import re
import tomllib
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

import pytest
from books import ROOT, build, make_sample
from bs4 import BeautifulSoup
from docutils import nodes

from helpers.collectives import CATALOGUE
from website import cards, katex, roles, set_numbers, theme


class Links(HTMLParser):
    """Every id and every href of a page, and its inline scripts."""

    def __init__(self, html: str):
        super().__init__()
        self.ids, self.hrefs, self.inline, self.mounts = set(), [], [], Counter()
        self._script = False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids |= {found[name] for name in ("id", "name") if found.get(name)}
        self.hrefs += [found["href"]] if tag == "a" and found.get("href") else []
        self._script = tag == "script" and "src" not in found
        self.inline += [name for name in found if name.startswith("on")]
        self.mounts[found.get("data-kind")] += 1

    def leads_to(self, fragment: str) -> bool:
        """Is there such an id, or, for a permalink of a widget, so many widgets of its kind?"""
        permalink = re.match(r"(\w+)-(\d+)--", fragment)
        return fragment in self.ids or bool(permalink and self.mounts[permalink[1]] > int(permalink[2]))

    def handle_data(self, data):
        if self._script and data.strip():
            self.inline.append(data)


@pytest.fixture(scope="module", params=["site", "sample"])
def pages(request) -> dict[str, Links]:
    """The pages of a book by their address."""
    folder = request.getfixturevalue(request.param)
    return {path.as_uri(): Links(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}


def test_links_between_pages_resolve(pages):
    broken = []
    for page, links in pages.items():
        for href in links.hrefs:
            target, fragment = urldefrag(urljoin(page, href))
            if not target.startswith("file:"):
                continue
            if target in pages:
                found = not fragment or pages[target].leads_to(unquote(fragment))
            else:
                found = Path(unquote(target.removeprefix("file://"))).is_file()
            broken += [] if found else [f"{page}: {href}"]
    assert sum(len(links.hrefs) for links in pages.values()) > 20
    assert broken == []


def test_no_page_holds_a_script_of_its_own(pages):
    assert {page: links.inline for page, links in pages.items() if links.inline} == {}


def test_no_stored_output_holds_a_script():
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert notebooks
    for path in notebooks:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            assert "<script" not in json.dumps(cell.get("outputs", [])).lower(), path.name


def test_every_chart_carries_its_page_twin():
    """The build passes over plotly's JSON in silence, so what the page shows must stand beside it."""
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        bundles = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
        for data in bundles:
            if "application/vnd.plotly.v1+json" in data:
                assert 'data-kind="chart"' in "".join(data.get("text/html", "")), path.name


def test_build_refuses_a_book_with_faults(tmp_path):
    book = make_sample(tmp_path / "book")
    page = book / "book" / "plain.md"
    page.write_text(FAULTS, encoding="utf-8")
    code, log = build(book, tmp_path / "out")
    assert code != 0
    for said in SAID:
        assert said in log, log


FAULTS = r"""---
card: {able: [fail], run: soon, hardware: none}
---

# Faults

{fact}`H100.nvlinc` {fact}`H100.nvlink amount` {fact}`rent.cloud half` {fact}`H100.hbm.capacity times 8`
{count}`pages` {recorded}`sample-run:rows.7.busbw` {recorded}`no-run:x` {lab}`kitchen:nothing` $\frac{1}$ [gone](gone.md)

```{map}
```

```{player} all_reduce by-magic
```

```{primitive} all_reduce
:values: 1 2; 3
```

```{memory} llama-9
```

:::{predict} when
:unit: ms
:fact: torch.nccl.timeout.never
How long?
:::

:::{dropdown} A solution
So.
:::
"""
SAID = (
    "book/plain has no place on the map",
    "book/ring has a place on the map and no page",
    "front matter needs a `description`",
    "card: run is 'soon', expected minutes as a number",
    "no fact 'H100.nvlinc'; close: H100.nvlink",
    "H100.nvlink is a bandwidth, 450 GB/s one way per GPU: it does not go without its scope",
    "a fact is told whole, its `amount`, or `times` a number, not its 'half'",
    "H100.hbm.capacity is 80 GB per GPU, and that times 8 means nothing",
    "count takes one of chapters, labs, algorithms, got 'pages'",
    "no '7' of 'rows.7.busbw'",
    "no recorded run 'no-run'; there are: sample-run",
    "nothing",
    "KaTeX parse error",
    "'myst' cross-reference target not found: 'gone.md'",
    "player: unknown schedule 'all_reduce' by 'by-magic'",
    "primitive: values: expected a row of numbers for each of 4 ranks, got 2",
    "memory: no recorded trace 'llama-9'; there are: 1xh200-gpt-2",
    "predict when: no fact 'torch.nccl.timeout.never'",
    "predict: a solution or a hint, and nothing to guess before it",
)


def test_the_list_of_chapters_is_folded_by_part_and_numbered(site):
    """The part of the page is open, a lab is a mark at its chapter; a page of no part has all of them open."""
    soup = BeautifulSoup((site / "notebooks" / "expert.html").read_text(encoding="utf-8"), "html.parser")
    parts = soup.select("#chapters > .bim-chapters-part")
    assert [part.summary.text for part in parts if part.has_attr("open")] == ["Training"]
    (here,) = soup.select("#chapters [aria-current=page]")
    assert (here.text, here.parent["data-page"]) == ("lab", "book/expert")
    numbers = [int(one.text) for one in soup.select("#chapters li > a > span")]
    labs = soup.select("#chapters abbr")
    assert numbers == [*range(1, len(labs) + 1)] and len(labs) == len([*(ROOT / "notebooks").glob("*.ipynb")])
    front = BeautifulSoup((site / "book" / "intro.html").read_text(encoding="utf-8"), "html.parser")
    assert all(part.has_attr("open") for part in front.select("#chapters > .bim-chapters-part"))
    counted = {what: int(many) for many, what in re.findall(r"(\d+) (chapters|labs|algorithms)", front.article.text)}
    assert counted == {"chapters": len(numbers), "labs": len(labs), "algorithms": len(CATALOGUE)}


def test_the_minutes_to_read_are_counted():
    """Prose and code, at the card's pace; no formula's source, and nothing that a cell printed."""
    printed = nodes.container("", nodes.literal_block("", "word " * 5000), classes=["cell_output"])
    formula = nodes.math_block("", "x " * 5000)
    page = nodes.section(
        "", nodes.paragraph("", "word " * 1000), nodes.literal_block("", "word " * 600), printed, formula
    )
    assert cards.minutes(page) == 1600 / cards.PACE
    assert cards.minutes(nodes.section()) == 1


@pytest.mark.parametrize(
    ("card", "said"),
    [
        ({"able": ["x"]}, "missing hardware"),
        ({"able": ["x"], "hardware": "x", "read": 15}, "unknown read"),
        ({"able": [], "hardware": "x"}, "expected a list"),
        ({"able": ["x"], "run": -1, "hardware": "x"}, "run is -1"),
        ("text", "expected keys and values"),
    ],
)
def test_card_refuses(card, said):
    with pytest.raises(ValueError, match=said):
        cards.read_card(card)


def test_pair_finds_the_other_half():
    docs = {"book/ring", "notebooks/ring", "book/setup"}
    assert cards.other_half("book/ring", docs) == ("Lab", "notebooks/ring")
    assert cards.other_half("notebooks/ring", docs) == ("Chapter", "book/ring")
    assert cards.other_half("book/setup", docs) is None


def test_short_code_and_a_short_formula_with_its_comma_stay_in_one_line(site):
    trees = (site / "book" / "trees.html").read_text(encoding="utf-8")
    assert re.search(r'<span class="bim-unbroken"><span class="katex">.*?</span>[,.]</span>', trees)
    body = '<code class="docutils"><span class="pre">2(P</span> <span class="pre">-</span> <span class="pre">1)</span></code>'
    assert theme.mend(body) == body.replace('"docutils"', '"docutils bim-unbroken"')
    assert theme.mend(long := body.replace("2(P", "2" * 30)) == long


def test_a_number_keeps_its_unit_and_what_a_lab_kept_its_minus_and_its_power():
    def told(text, is_kept):
        return "".join(str(node) for node in set_numbers.pieces(text, is_kept))

    assert (
        told("In 1.76 ms a NIC sent 64 MiB, 3 % of it.", False) == "In 1.76\xa0ms a NIC sent 64\xa0MiB, 3\xa0% of it."
    )
    assert told("5% of it", False) == "5\xa0% of it"
    assert told("8 B200 and 4 sources, rank 0-1-2", False) == ""
    assert told("[-1, 2, 0-1]", True) == "[−1, 2, 0-1]"
    assert told("2.4e-03", True) == "2.4·10<superscript>−3</superscript>"


def test_what_is_printed_in_columns_keeps_them_and_a_sentence_wraps():
    def printed(text, kind="stream"):
        return f'<div class="output {kind} highlight-none"><div class="highlight"><pre><span></span>{text}</pre></div></div>'

    table, said, code = (
        printed("ranks    time\n4        1 ms"),
        printed("It took 1 ms.  So be it."),
        printed("a    b", "html"),
    )
    kept = theme.mend(table + said + code)
    assert kept == table.replace("<pre>", '<pre class="bim-columns">') + said + code


@pytest.fixture
def node():
    """The node process ends with the test."""
    yield
    katex.end_node()


def test_formula_is_html_and_mathml(node):
    html = katex.typeset(r"\frac{N}{P}", True)
    assert "<math" in html
    assert 'class="katex-html"' in html
    assert katex.node_process() is katex.node_process()


def test_formula_that_katex_refuses_says_why(node):
    with pytest.raises(katex.KatexError, match="Undefined control sequence"):
        katex.typeset(r"\nosuchcommand", False)
    assert "katex" in katex.typeset("x", False), "the process goes on after a refusal"


def test_equation_is_numbered_once():
    assert katex.unnumbered(r"\begin{align}x\end{align}") == r"\begin{align*}x\end{align*}"
    assert katex.unnumbered(r"\begin{bmatrix}x\end{bmatrix}") == r"\begin{bmatrix}x\end{bmatrix}"


def test_recorded_value_is_found_by_its_path(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "run.json").write_text('{"machine": "m", "rows": [{"t": 1.5}]}')
    run = roles.load_run(tmp_path, "run")
    assert roles.pick(run, "rows.0.t") == 1.5
    assert roles.provenance(run) == "recorded: m"


def test_recorded_value_says_where_it_comes_from():
    own = {"label": "4 ranks, gloo, CPU", "machine": {"cpu": "x86", "cores": 2, "gpus": []}, "date": "2026-01-01"}
    published = {"machine": "one node", "measured": None, "source": {"title": "A page"}}
    assert roles.provenance(own) == "recorded: 4 ranks, gloo, CPU; cpu x86, cores 2; 2026-01-01"
    assert roles.provenance(published) == "recorded: one node; A page"
    assert roles.provenance({}) == "recorded: see the recorded run"


@pytest.mark.parametrize("folder", ["assets/vendor", "tests/vendor"])
def test_vendored_files_are_what_they_say(folder):
    listed = tomllib.loads((ROOT / folder / "vendor.toml").read_text(encoding="utf-8"))
    found = {path.name for path in (ROOT / folder).iterdir() if path.is_dir()}
    assert listed.keys() == found
    for name, entry in listed.items():
        files = {
            p.relative_to(ROOT / folder / name).as_posix(): p for p in (ROOT / folder / name).rglob("*") if p.is_file()
        }
        sums = {file: hashlib.sha256(path.read_bytes()).hexdigest() for file, path in files.items()}
        assert sums == entry["sha256"], name
        assert "LICENSE" in sums
        assert re.fullmatch(r"\d+\.\d+\.\d+", entry["version"])


def test_page_and_widgets_share_no_class():
    """A class of the page that a widget also uses would restyle every chart beside it: it happened. A rule for a mount is meant for it."""

    def classes(*sheets: Path) -> set[str]:
        rules = [re.sub(r"\.bim-mount[\[:][^{]*", "", sheet.read_text(encoding="utf-8")) for sheet in sheets]
        return {name for text in rules for name in re.findall(r"\.(bim-[\w-]+)", text)}

    page = classes(*(ROOT / "assets").glob("*.css"))
    widgets = classes(*(ROOT / "helpers" / "view").rglob("*.css"))
    assert len(page) > 20
    assert len(widgets) > 20
    assert page & widgets == set()


FOR_A_WIDTH = re.compile(r"@(?:media|container)[^{]*width[^{]*\{((?:[^{}]*\{[^{}]*\})*)")
COLOUR = re.compile(
    r"([^{}]*)\{[^{}]*?(?<![\w-])(?:color|fill|opacity|background(?:-color)?):(?! *(?:none|var\(--bim-page\)))[^;}]+"
)


def test_no_width_has_colours_of_its_own():
    """So whoever has looked at both themes on a screen and one on a telephone has seen every contrast."""
    sheets = [*(ROOT / "assets").glob("*.css"), *(ROOT / "helpers" / "view").rglob("*.css")]
    blocks = [block for sheet in sheets for block in FOR_A_WIDTH.findall(sheet.read_text(encoding="utf-8"))]
    assert len(blocks) > 20
    found = [rule.strip() for block in blocks for rule in COLOUR.findall(block)]
    assert found == [".bim-chapters::backdrop"]
    assert COLOUR.findall(FOR_A_WIDTH.findall("@media (max-width: 9px) { a { b: c; } d { color: e; } }")[0])


def test_code_in_a_table_breaks_at_joints_and_short_code_nowhere():
    code = '<code class="literal"><span class="pre">{}</span></code>'
    told = theme.mend(f"<table><td>{code.format('NCCL_DEBUG=INFO')}</td><td>{code.format('x.grad')}</td></table>")
    assert told.startswith('<div class="bim-sideways"><table>') and "NCCL_<wbr>DEBUG=<wbr>INFO" in told
    assert '<code class="literal bim-unbroken"><span class="pre">x.grad</span>' in told
    assert "<wbr>" not in theme.mend(code.format("NCCL_DEBUG=INFO")), "beside words there is room"
