"""How a number is set: its unit in its own line, a per cent sign like any unit, a minus as long as a plus, a power of ten as a power.

The words stay plain where they are looked up (search, the veil, what a guess is held against): this is done as a page is written.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx

AS_TYPED = nodes.literal | nodes.literal_block | nodes.raw | nodes.math | nodes.math_block
UNIT = re.compile(r"(?<=\d) (?=(?:[KMGT]iB|[kMGT]?B|[numµ]s|s|[kMGT]?B/s|Gb/s|[GTP]FLOP/s|%)(?![\w/]))")
PERCENT = re.compile(r"(?<=\d)%")
MINUS = re.compile(r"(?<![\w.])-(?=\d)")
POWER = re.compile(r"(?<=\d)e([+-]?)0*(\d+)\b")


def set_numbers(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """In all prose the units; in what a lab kept also the sign and the power."""
    for text in list(doctree.findall(nodes.Text)):
        parent = text.parent
        if not isinstance(parent, AS_TYPED) and (new := pieces(str(text), "bim-lab" in parent.get("classes", ()))):
            parent.replace(text, new)


def pieces(text: str, is_kept: bool) -> list[nodes.Node]:
    """The same number, set; nothing where it stays as it is."""
    said = PERCENT.sub("\xa0%", UNIT.sub("\xa0", text))
    if not is_kept:
        return [nodes.Text(said)] if said != text else []
    plain, *powers = POWER.split(MINUS.sub("−", said).replace(" = ", "\xa0=\xa0"))
    made: list[nodes.Node] = [nodes.Text(plain)]
    for sign, digits, behind in zip(powers[::3], powers[1::3], powers[2::3], strict=True):
        made += [nodes.Text("·10"), nodes.superscript("", sign.replace("-", "−").strip("+") + digits)]
        made += [nodes.Text(behind)] if behind else []
    return made


def setup(app: Sphinx) -> dict[str, bool]:
    """When a page is about to be written."""
    app.connect("doctree-resolved", set_numbers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
