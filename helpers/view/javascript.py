"""JavaScript as tokens, and two uses of them: fewer blanks, and shorter names. Only for modules that `bundle` accepts.

Strings, templates and patterns stay as they are, and lines stay lines: nothing depends on where a semicolon would be guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*[\s\S]*?\*/)
    | (?P<line>\s*\n\s*) | (?P<blank>[ \t]+)
    | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    | (?P<number>\d[\w.]*)
    | (?P<word>[A-Za-z_$][\w$]*)
    | (?P<sign>=>|\.\.\.|\?\.|\?\?|&&|\|\||\+\+|--|\*\*|[^\w\s"'`])""",
    re.X,
)
_TEMPLATE = re.compile(r"[`}](?:\\.|\$(?!\{)|[^`$\\])*(?:`|\$\{)")  # from ` or }, up to ` or ${
_PATTERN = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n])+/[a-z]*")
_VALUE_ENDS = re.compile(r"[\w$)\]}\"'`]$")  # after these a slash divides; elsewhere it opens a pattern


def tokens(text: str) -> list[str]:
    """Every token but comments and blanks; an end of line is "\\n". ValueError where a string or template does not end."""
    return list(_read(text))


def _read(text: str) -> Iterator[str]:
    at, last, braces = 0, "", []
    while at < len(text):
        in_template = text[at] == "`" or (text[at] == "}" and braces[-1:] == ["${"])
        found = _TEMPLATE.match(text, at) if in_template else _TOKEN.match(text, at)
        if not in_template and found and found[0] == "/" and not _VALUE_ENDS.search(last):
            found = _PATTERN.match(text, at)
        if not found:
            raise ValueError(f"a string, template or pattern does not end: {text[at : at + 30]!r}")
        at = found.end()
        kind = "template" if in_template else found.lastgroup
        if kind in ("comment", "blank") or (kind == "line" and last in ("", "\n")):
            continue
        last = "\n" if kind == "line" else found[0]
        _track(last, braces)
        yield last


def _track(token: str, braces: list[str]) -> None:
    """Which braces are open: a template's ${ closes with a } that goes on with the template."""
    if token[0] == "}" and braces:
        braces.pop()
    if token == "{" or (token[0] in "`}" and token.endswith("${")):
        braces.append("${" if token != "{" else "{")


def join(parts: list[str]) -> str:
    """Tokens as text again, with a blank only where two would read as one."""
    out: list[str] = []
    for token in parts:
        words = out and re.match(r"[\w$]", token) and re.search(r"[\w$]$", out[-1])
        signs = out and token[0] in "+-" and out[-1].endswith(token[0])
        out.append(f" {token}" if words or signs else token)
    return "".join(out).strip() + "\n"
