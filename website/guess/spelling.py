"""A number with its unit, however it is spelled: 1,024 bytes, 1024 B, 1 KiB and 2^10 bytes are one answer, and so is 3.2 MiB for 3291 KiB.

Two spellings are the same where they differ by no more than the coarser one leaves open, half of its last place.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from website.guess.answers import units_like

WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
NUMBER = re.compile(
    r"(?<![\w.,^$€−-])(?:"
    r"(?P<base>\d+)(?:\^(?P<power>\d+)|(?P<raised>[⁰¹²³⁴-⁹]+))"
    r"|(?P<plain>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?:e(?P<tens>[+-]?\d+))?"
    rf"|(?P<word>{'|'.join(WORDS[2:])})\b)(?!\.?\d)",
    re.IGNORECASE,
)
ALSO = {"byte": "bytes", "second": "s", "seconds": "s", "minute": "minutes", "hour": "hours", "µs": "µs", "μs": "µs"}
ALSO |= {"per cent": "%", "percent": "%", "×": "times"}
WIDE = 0.05  # of an answer: a coarse spelling that is farther off says something else


class Said(NamedTuple):
    """start, end: where it stands, a unit of measure with its number, before a word the number alone; value: in the unit asked for.

    slack: half of its last place. digits: how many of its figures say something, the zeros at both ends left out.
    """

    start: int
    end: int
    value: float
    slack: float
    digits: int

    def same(self, other: "Said") -> bool:
        """One quantity, as far as its two spellings tell."""
        apart = abs(self.value - other.value)
        return apart <= max(self.slack, other.slack) * (1 + 1e-9) and apart <= WIDE * other.value


def said(text: str, unit: str) -> Iterator[Said]:
    """Every number in `text` that stands before a unit like `unit`."""
    measured, ending = len(units_like(unit)) > 1, behind(unit)
    for number in NUMBER.finditer(text):
        if found := ending.match(text, number.end()):
            value, slack, digits = figures(number)
            size = (
                units_like(unit).get(ALSO.get(found[1].lower(), found[1]), units_like(unit)[unit])
                / units_like(unit)[unit]
            )
            yield Said(number.start(), found.end() if measured else number.end(), value * size, slack * size, digits)


def alone(text: str) -> Said | None:
    """A text that is a number and nothing else."""
    number = NUMBER.fullmatch(text)
    return Said(0, len(text), *figures(number)) if number else None


@cache
def behind(unit: str) -> re.Pattern[str]:
    """What stands between a number and the end of its unit; a word in singular and in plural."""
    kind = units_like(unit)
    if len(kind) == 1 and unit[-1:] == "s":
        names = [re.escape(unit), re.escape(unit[:-1])]
    else:
        names = [re.escape(name) for name in sorted(kind, key=len, reverse=True)]
    names += [re.escape(name) for name, means in ALSO.items() if means in kind]
    rate = "/" if len(kind) > 1 else ""  # 50 MiB/s are no MiB
    return re.compile(rf"[ \xa0\u202f-]?({'|'.join(names)})(?![\w{rate}])")


def figures(number: re.Match[str]) -> tuple[float, float, int]:
    """Value, half of the last place, and the figures that say something."""
    if number["word"]:
        return float(WORDS.index(number["word"].lower())), 0.0, 1
    if number["base"]:
        raised = int(number["power"] or number["raised"].translate(RAISED))
        return float(int(number["base"]) ** raised), 0.0, 2
    whole, _, rest = number["plain"].replace(",", "").partition(".")
    tens = int(number["tens"] or 0)
    slack = 0.5 * 10.0 ** (tens - len(rest))
    return float(f"{whole}.{rest or 0}e{tens}"), slack, len((whole + rest).strip("0"))
