"""What a page goes on to say of the number that a block asks for: veiled until the reader has guessed or looked.

The rule. Behind a block its answer is veiled in every spelling (website/guess/spelling.py): in the block's own section with its unit or
cited alone, in later sections with its unit, and there only if the page has not said it before it asked. What stands in `code style` is
an example's choice and no result; headings are left alone, and charts are cover.py's. The words stay where they are, for search, for paper
and for readers without scripts; assets/guess/predict.js takes the veil away.
"""

from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx

from website.guess.asked import ASKED, CLOSING, DRAWN, Question, ancestors, near, order, questions
from website.guess.spelling import Said, alone, said

CITED = {"bim-lab", "bim-fact", "bim-recorded"}
Part = tuple[nodes.Text | nodes.math, str]  # a piece of a paragraph, and how it reads


def veil(app: Sphinx, doctree: nodes.document) -> None:
    """Every block's answer in what follows it."""
    for block, question in questions(doctree):
        before, own, later = around(doctree, block)
        for paragraph in own:
            hide(paragraph, question, [*spelled(paragraph, question), *cited(paragraph, question)])
        if not any(spelled(paragraph, question) for paragraph in before):
            for paragraph in later:
                hide(paragraph, question, spelled(paragraph, question))


def around(doctree: nodes.document, block: nodes.raw) -> tuple[list[nodes.paragraph], ...]:
    """The paragraphs before a block, those behind it in its section, and those behind that. A question has to be read: it is in none."""
    before, own, later = found = ([], [], [])
    into, asking = before, False
    for node in order(doctree, nodes.paragraph, nodes.raw):
        if isinstance(node, nodes.raw):
            asking = ASKED in node or DRAWN in node
        if node is block:
            into = None
        elif into is None and node.astext() == CLOSING:
            into = own
        elif into is not None and isinstance(node, nodes.paragraph) and not asking:
            into = into if into is before else own if near(block, node) else later
            into.append(node)
    return found


def spelled(paragraph: nodes.paragraph, question: Question) -> list[Said]:
    """Where it says the answer, with its unit."""
    text = "".join(reads for _, reads in parts(paragraph))
    return [found for found in said(text, question.unit) if found.same(question.answer)]


def cited(paragraph: nodes.paragraph, question: Question) -> Iterator[Said]:
    """Where it cites the answer as a number alone; whatever it counts stands farther off."""
    at = 0
    for node, reads in parts(paragraph):
        by_role = any(CITED & set(above.get("classes", ())) for above in ancestors(node))
        if by_role and (found := alone(reads)) and found.same(question.answer):
            yield found._replace(start=at, end=at + len(reads))
        at += len(reads)


def parts(paragraph: nodes.paragraph) -> list[Part]:
    """Its words and formulas in order, each as it reads; code reads as nothing."""
    return [
        (node, plain(node))
        for node in paragraph.findall(lambda node: isinstance(node, nodes.Text | nodes.math))
        if whole(node)
    ]


def whole(node: nodes.Node) -> bool:
    """Not the text inside of a formula, which is one piece."""
    return not isinstance(node.parent, nodes.math)


def plain(node: nodes.Text | nodes.math) -> str:
    """2^{10} reads 2^10, 1{,}024 reads 1,024; a piece of code reads as so many signs that no number has."""
    text = node.astext()
    if isinstance(node, nodes.math):
        return text.replace("{", "").replace("}", "").replace(r"\,", " ")
    return "\0" * len(text) if any(isinstance(above, nodes.literal) for above in ancestors(node)) else text


def hide(paragraph: nodes.paragraph, question: Question, found: list[Said]) -> None:
    """The same paragraph, these places of it veiled."""
    at = 0
    for node, reads in parts(paragraph):
        cuts = sorted({(max(one.start - at, 0), min(one.end - at, len(reads))) for one in found})
        cuts = [(start, end) for start, end in cuts if start < end]
        at += len(reads)
        if cuts:
            node.parent.replace(node, split(node, cuts, question.name))


def split(node: nodes.Text | nodes.math, cuts: list[tuple[int, int]], name: str) -> list[nodes.Node]:
    """A formula is veiled as a whole, of words no more than they say."""
    if isinstance(node, nodes.math):
        return [nodes.inline("", "", node.deepcopy(), classes=veiled(name))]
    text, told, at = str(node), [], 0
    for start, end in cuts:
        if start >= at:
            told += [nodes.Text(text[at:start]), nodes.inline("", text[start:end], classes=veiled(name))]
            at = end
    return [piece for piece in [*told, nodes.Text(text[at:])] if piece.astext()]


def veiled(name: str) -> list[str]:
    return ["bim-veiled", f"bim-veiled-{name}"]


def setup(app: Sphinx) -> dict[str, bool]:
    """When a page has been read."""
    app.connect("doctree-read", veil)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
