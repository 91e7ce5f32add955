"""A guess before the answer shows: a number with its unit, a bar or a place on an axis, or a curve drawn over a chart's axes.

:::{predict} ring-time
:unit: µs
:lab: ring_seconds
How long does an all-reduce of 64 MiB take on four H100?
---
What is said with the answer, if anything; mostly the page's own next paragraph says it.
:::

`:kind: bar` and `:kind: order` take a `:range:` (website/guess/axis.py), `:kind: curve` a `:chart:` and a `:line:` in place of a source
(website/guess/answers.py, website/guess/curves.py); a bar of theirs waits in its chart, too. `:tempting:` is a wrong answer that lies
near, and why it does; it stands beside the answer.
Who reads sees both; who guesses (the switch in the header) is asked first, and so is everybody in a section of exercises.
Without JavaScript and on paper the answer is open. assets/guess/predict.js holds the guess against it.
"""

import json
import re
from dataclasses import dataclass
from html import escape
from pathlib import PurePosixPath
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from website.guess import answers, axis, curves
from website.guess.asked import ASKED, CLOSING, ancestors, plainly, raw, tempting_of_page
from website.guess.plot import plot

log = logging.getLogger(__name__)
KINDS = ("number", "order", "bar", "curve")
BETWEEN = "---"  # the line between the question and what stands with the answer
NEEDED = {"number": (), "order": ("range",), "bar": ("range", "bar"), "curve": ("chart", "line")}
OPENING = '<div class="bim-predict'
EXERCISES = ("With a pencil", "Exercises")  # titles of sections


@dataclass(frozen=True)
class Asked:
    """What a block is made of: what the script must know, the controls, and the answer for those who need no script."""

    knows: dict[str, Any]
    controls: str
    told: str


class PredictDirective(SphinxDirective):
    """{predict} NAME: a question whose answer the build looks up; one that has no answer is a warning, so the build fails."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "kind": lambda value: directives.choice(value, KINDS),
        **dict.fromkeys(
            ("unit", "range", "bar", "beside", "chart", "line", "tempting", *answers.SOURCES),
            directives.unchanged_required,
        ),
    }

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        try:
            question, more = map(self.parsed, halves(self.content))
            asked = self.asked(name, plainly(question))
        except (ValueError, KeyError, OSError) as error:
            said = error.args[0] if isinstance(error, KeyError) else error
            log.warning("predict %s: %s", name, said, location=self.get_location(), type="bim", subtype="predict")
            return []
        first = raw(opening(name, asked))
        if asked.knows["kind"] != "curve":
            first[ASKED] = (name, asked.knows["text"], asked.knows["unit"], asked.knows["gap"])
        return [first, *question, raw(middle(asked)), *self.tempting(), *more, raw(CLOSING)]

    def tempting(self) -> list[nodes.Node]:
        """What lies near and is wrong, in a line of its own; a lab tells what its page tells of the same question."""
        said = self.options.get("tempting") or tempting_of_page(self.env, self.arguments[0])
        if not said:
            return []
        told, messages = self.parse_inline(said)
        words = [nodes.Text("Tempting and wrong: "), *told, nodes.Text(".")]
        return [nodes.paragraph("", "", *words, classes=["bim-predict-tempting"]), *messages]

    def asked(self, name: str, question: str) -> Asked:
        """The block, its options checked. ValueError or KeyError says what is wrong with them."""
        kind = check(name, self.options)
        stem = PurePosixPath(self.env.docname).name
        unit = self.options["unit"]
        knows = {"key": f"{stem}:{name}", "question": question, "kind": kind, "unit": unit}
        knows["units"] = answers.units_like(unit)
        if kind == "curve":
            return of_curve(knows, curves.drawn(self.env, self.options))
        answer = answers.answer(self.env, self.options)
        knows |= {"truth": [answer.value], "text": answer.text, "gap": self.options.get("gap", "")}
        knows |= {option: self.options[option] for option in ("chart", "line") if option in self.options}
        return Asked(
            knows,
            self.controls(name, kind, answer),
            f'<p class="bim-predict-said">It is <strong>{escape(answer.text)}</strong>.</p>',
        )

    def controls(self, name: str, kind: str, answer: answers.Answer) -> str:
        """A field, or a figure to make the guess on."""
        unit = self.options["unit"]
        if kind == "number":
            return field(name, unit)
        on = axis.axis(kind, unit, self.options["range"], answer)
        return axis.drawn(name, on, answer, self.options, axis.known(self.env, self.options.get("beside", ""), unit))

    def parsed(self, lines: StringList) -> list[nodes.Node]:
        """The document nodes of some lines."""
        box = nodes.container()
        self.state.nested_parse(lines, self.content_offset, box)
        return box.children


def halves(content: StringList) -> tuple[StringList, StringList]:
    """The question, and what stands with the answer. ValueError where nothing is asked."""
    at = next((i for i, line in enumerate(content) if line.strip() == BETWEEN), len(content))
    if not any(line.strip() for line in content[:at]):
        raise ValueError("asks nothing: the question is the block's text")
    return content[:at], content[at + 1 :]


def check(name: str, options: dict[str, str]) -> str:
    """The block's kind; ValueError for a name that is no id, and for options that are missing."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise ValueError("a name is lower-case letters, digits and hyphens: links and the reader's browser know it")
    kind = options.get("kind", "number")
    if missing := [option for option in ("unit", *NEEDED[kind]) if not options.get(option)]:
        raise ValueError(f"{kind} needs :{': and :'.join(missing)}:")
    return kind


def field(name: str, unit: str) -> str:
    """A number to write."""
    return (
        f'<label for="predict-{name}">Your guess</label> '
        f'<input id="predict-{name}" name="guess" inputmode="decimal" autocomplete="off" required> '
        f"<span>{escape(unit)}</span>"
    )


def of_curve(knows: dict[str, Any], line: curves.Drawn) -> Asked:
    """A point to move for each of the line's."""
    unit = knows["unit"]
    knows |= {"truth": line.values, "labels": line.labels, "low": line.low, "high": line.high}
    knows |= {"chart": line.chart, "line": line.name}
    first, last = (answers.spelled(value, unit) for value in (line.values[0], line.values[-1]))
    knows["text"] = f"{first} to {last}"
    told = f"<p>From <strong>{first}</strong> at {line.labels[0]} to <strong>{last}</strong> at {line.labels[-1]}.</p>"
    return Asked(knows, plot(line, unit), told)


def opening(name: str, asked: Asked) -> str:
    data = escape(json.dumps(asked.knows, ensure_ascii=False, separators=(",", ":")))
    return f'{OPENING}" id="guess-{name}" role="group" aria-label="A question" data-guess="{data}">'


def middle(asked: Asked) -> str:
    """The controls, and the answer as far as the build says it."""
    return (
        f'<form class="bim-predict-form">{asked.controls} <button>That is my guess</button>'
        ' <button type="button" class="bim-predict-show">Show it</button></form>'
        f'<p class="bim-predict-gap" role="status"></p><div class="bim-predict-answer">{asked.told}'
    )


def mark(app: Sphinx, doctree: nodes.document) -> None:
    """Blocks in a section of exercises."""
    for block in doctree.findall(nodes.raw):
        section = next((one for one in ancestors(block) if isinstance(one, nodes.section)), None)
        if block.astext().startswith(OPENING) and section and section[0].astext() in EXERCISES:
            block[0] = nodes.Text(block.astext().replace(OPENING, f"{OPENING} bim-exercise", 1))


class GuessesDirective(SphinxDirective):
    """{guesses}: all that this browser keeps of the reader's guesses, filled in by assets/guess/calibration.js."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        box = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, box)
        switch = '<p><button class="bim-reading" type="button" hidden>Guess before answers show</button></p>'
        return [raw(f'{switch}<div class="bim-guessed">'), *box.children, raw("</div>")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Both directives."""
    app.add_directive("predict", PredictDirective)
    app.add_directive("guesses", GuessesDirective)
    app.connect("doctree-read", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
