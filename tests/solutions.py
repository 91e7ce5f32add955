"""What a page gives as the solutions of its exercises, run."""

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
