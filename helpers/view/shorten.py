"""Short names for what is local: the larger half of what a minifier saves, without reading scopes.

A declaration at the top of a module is one piece. Whatever it binds inside (parameters, constants) is renamed all through that
piece, the same name always to the same letter, so shadowing stays as it was. Names at the top, globals and properties keep theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from string import ascii_letters

_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """async await break case catch class const continue default delete do else export extends false finally for function
        if import in instanceof let new null of return static super switch this throw true try typeof undefined var void while
        yield""",
    )
)
_BLOCK_OPENS_AFTER = (")", "=>", "else", "try", "finally", "catch", "do", ";", "{", "}", "")


def shorten(piece: list[str], taken: frozenset[str]) -> list[str]:
    """A top-level declaration's tokens with its local names shortened. taken: names that must stay and must not be reused."""
    roles, bound = _read(piece)
    local = sorted(bound - taken, key=lambda name: (-piece.count(name), name))
    fixed = taken | {piece[i] for i, role in roles.items() if piece[i] not in bound} | _KEYWORDS
    short = dict(zip(local, _letters(fixed), strict=False))
    return [_renamed(token, roles.get(i), short) for i, token in enumerate(piece)]


def _renamed(token: str, role: str | None, short: dict[str, str]) -> str:
    if role is None or role == "property" or token not in short:
        return token
    return f"{token}:{short[token]}" if role == "shorthand" else short[token]


def _letters(fixed: frozenset[str]) -> Iterator[str]:
    """a, b, ... Z, then a0, b0, ..."""
    for round_ in count(-1):
        for letter in ascii_letters:
            name = letter if round_ < 0 else f"{letter}{round_}"
            if name not in fixed:
                yield name


def _read(piece: list[str]) -> tuple[dict[int, str], set[str]]:
    """What every word is ("variable", "property", "shorthand"), and which names the piece binds, its own name left out."""
    seen = [i for i, token in enumerate(piece) if token != "\n"]
    closes, in_object = _brackets(piece, seen)
    near = lambda n: piece[seen[n]] if 0 <= n < len(seen) else ""  # noqa: E731
    roles = {
        i: _role(near(n - 1), near(n + 1), in_object[n])
        for n, i in enumerate(seen)
        if re.match(r"[A-Za-z_$]", piece[i]) and piece[i] not in _KEYWORDS
    }
    spans = [span for n in range(2, len(seen)) for span in _binding(n, near, closes)]
    names = {piece[seen[n]] for a, b in spans for n in range(a, b) if roles.get(seen[n]) in ("variable", "shorthand")}
    return roles, names


def _role(before: str, after: str, in_object: bool) -> str:
    if before in (".", "?."):
        return "property"
    if in_object and before in ("{", ",") and after == ":":
        return "property"
    return "shorthand" if in_object and before in ("{", ",") and after in (",", "}", "=") else "variable"


def _brackets(piece: list[str], seen: list[int]) -> tuple[dict[int, int], list[bool]]:
    """Each bracket's partner, both ways; and for every token whether it stands directly in an object's braces."""
    partner: dict[int, int] = {}
    stack: list[tuple[int, bool]] = []
    in_object = []
    for n, i in enumerate(seen):
        token = piece[i]
        if token[0] in ")]}" and stack:
            start, _ = stack.pop()
            partner[n], partner[start] = start, n
        in_object.append(bool(stack) and stack[-1][1])
        if token in ("(", "[", "{") or (token[0] in "`}" and token.endswith("${")):
            stack.append((n, token == "{" and (piece[seen[n - 1]] if n else "") not in _BLOCK_OPENS_AFTER))
    return partner, in_object


def _binding(n: int, near, partner: dict[int, int]) -> Iterator[tuple[int, int]]:
    """The stretches of tokens that a token binds: parameters of an arrow or a function, targets of const and let."""
    if near(n) == "=>":
        yield (partner[n - 1], n - 1) if near(n - 1) == ")" else (n - 1, n)
    if near(n - 1) in ("const", "let"):
        yield (n, partner.get(n, n + 1))
    if near(n) == "(" and near(n - 2) == "function":
        yield (n - 1, partner[n])
