"""The widget `routing` in prose. All options: `routing_spec`; capacity is a factor, 0 for no limit.

```{routing}
:tokens: 8
:experts: 8
:top_k: 2
:capacity: 1.25
:nranks: 4
:skew: 50
```
"""

from __future__ import annotations

from helpers.view.routing.asked import routing_spec
from helpers.view.routing.widget import routing_html
from helpers.view.shared.mount import positive, whole


def factor(words: str | None) -> float:
    """A number from 0."""
    try:
        return float(words or "")
    except ValueError:
        raise ValueError(f"expected a capacity factor, or 0 for no limit, got {words!r}") from None


OPTIONS = {
    "tokens": positive,
    "experts": positive,
    "top_k": positive,
    "capacity": factor,
    "nranks": positive,
    "skew": whole,
    "seed": whole,
}
KNOWS: dict = {}


def html(argument: str, options: dict, content: str = "") -> str:
    """{routing}"""
    if argument:
        raise ValueError(f"routing takes options and no argument, got {argument!r}")
    return routing_html(routing_spec(**options))
