"""What the tests of exercises share: the solutions that a page gives, run; and what a checker says to a wrong answer."""

import re
from pathlib import Path

BOOK = Path(__file__).parents[1] / "book"


def solutions(page: str, **known: object) -> dict:
    """Everything that the solutions on a page define, by name. known: the names that they use besides."""
    text = (BOOK / f"{page}.md").read_text()
    names = dict(known)
    for code in re.findall(r"\{dropdown\} A solution[^\n]*\n```python\n(.*?)```", text, re.S):
        exec(code, names)
    return names


def refused(answer, *words: str) -> None:
    """It is not solved, and all these words say why."""
    assert not answer.passed and all(one in str(answer) for one in words), answer
