"""What a page goes on to say of the number that a block asks for: for who guesses, veiled until he has guessed or looked.

The rule. Behind a block, in its own section, every sentence is veiled that says its answer in any spelling (website/guess/spelling.py),
with its unit or cited alone: a sentence as a whole, since half of one cannot be read. So is the first sentence right behind the block,
if it cites a number: "That is 14.1 times as much" tells the answer, too. What stands in `code style` is an example's choice
and no result; headings, pictures and charts are left alone. The words stay where they are, for search, for paper and for who reads
(`html[data-reading]`, assets/mode.js); assets/guess/predict.js takes the veil away.
"""

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx

from website.guess.asked import CLOSING, Question, ancestors, near, order, questions
from website.guess.spelling import Said, alone, said

CITED = {"bim-lab", "bim-fact", "bim-recorded"}
SENTENCE = re.compile(r"([.?!][)\"”]?)\s+(?=[A-Z0-9“\"(])")  # "at 1.5 GiB" and "e.g. this" go on
Part = tuple[nodes.Text | nodes.math, str]  # a piece of a paragraph, and how it reads


def veil(app: Sphinx, doctree: nodes.document) -> None:
    """Every block's answer in what follows it."""
    for block, question in questions(doctree):
        for paragraph in behind(doctree, block):
            found = [*spelled(paragraph, question), *cited(paragraph, question), *follows(paragraph, question)]
            hide(paragraph, question, found)


def behind(doctree: nodes.document, block: nodes.raw) -> Iterator[nodes.paragraph]:
    """The paragraphs behind a block in its section. A question has to be read, and an answer is its block's own: they are none of them."""
    past, inside = False, False
    for node in order(doctree, nodes.paragraph, nodes.raw):
        if isinstance(node, nodes.raw):
            past = past or node is block
            inside = (inside or "bim-predict" in node.astext()) and node.astext() != CLOSING
        elif past and not inside and near(block, node):
            yield node


def spelled(paragraph: nodes.paragraph, question: Question) -> list[Said]:
    """Where it says the answer, with its unit."""
    text = "".join(reads for _, reads in parts(paragraph))
    return [found for found in said(text, question.unit) if found.same(question.answer)]


def cited(paragraph: nodes.paragraph, question: Question) -> Iterator[Said]:
    """Where it cites the answer as a number alone; whatever it counts stands farther off."""
    at = 0
    for node, reads in parts(paragraph):
        if by_role(node) and (found := alone(reads)) and found.same(question.answer):
            yield found._replace(start=at, end=at + len(reads))
        at += len(reads)


def follows(paragraph: nodes.paragraph, question: Question) -> Iterator[Said]:
    """The start of a paragraph right behind a block, where its first sentence cites a number or goes on of "that"."""
    i, at = paragraph.parent.index(paragraph), 0
    if not i or paragraph.parent[i - 1].astext() != CLOSING:
        return
    _, end = next(sentences_of(paragraph), (0, 0))
    for node, reads in parts(paragraph):
        if at < end and (by_role(node) or reads.startswith("That ")):
            yield question.answer._replace(start=0)
        at += len(reads)


def by_role(node: nodes.Node) -> bool:
    """A number that a role has brought in."""
    return any(CITED & set(above.get("classes", ())) for above in ancestors(node))


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
    """The same paragraph, the sentences of these places veiled."""
    at, sentences = (
        0,
        [sentence for sentence in sentences_of(paragraph) if any(said_in(sentence, one) for one in found)],
    )
    for node, reads in parts(paragraph):
        cuts = [(max(start - at, 0), min(end - at, len(reads))) for start, end in sentences]
        cuts = [(start, end) for start, end in cuts if start < end]
        at += len(reads)
        if cuts:
            node.parent.replace(node, split(node, cuts, question.name))


def sentences_of(paragraph: nodes.paragraph) -> Iterator[tuple[int, int]]:
    """From where to where each goes."""
    text, start = "".join(reads for _, reads in parts(paragraph)), 0
    for end in SENTENCE.finditer(text):
        yield start, end.end(1)
        start = end.end()
    if start < len(text):
        yield start, len(text)


def said_in(sentence: tuple[int, int], one: Said) -> bool:
    return sentence[0] <= one.start < sentence[1]


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
