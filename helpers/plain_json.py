"""JSON from elsewhere, read no deeper than a limit: what nests further can end the interpreter in a page. Chapters: hangs, yours."""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import Any

DEEPEST = 200  # lists in objects in lists; what is read here needs about ten
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_OTHERS = bytes(set(range(256)) - set(b'[]{}"'))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


class TooDeep(ValueError):
    """Lists and objects stand in each other deeper than is read; the message says how deep."""


def depth_of(text: str) -> int:
    """How many lists and objects are open at once, at most; of broken JSON, too."""
    data = _ESCAPED.sub(b"", text.encode("utf-8", "surrogatepass")).translate(None, _OTHERS)
    outside = b"".join(data.split(b'"')[::2])  # brackets in a text are letters
    return max(accumulate(map(_STEPS.__getitem__, outside)), default=0)


def read_json(text: str, deepest: int = DEEPEST, **how: Any) -> Any:
    """`json.loads` with its options `how`. TooDeep, before anything is parsed, for what nests deeper than `deepest`."""
    if (depth := depth_of(text)) > deepest:
        raise TooDeep(f"is nested {depth} levels deep, expected at most {deepest}")
    return json.loads(text, **how)
