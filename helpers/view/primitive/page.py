"""The widget `primitive` in prose.

```{primitive} all_gather
:nranks: 4
:values: 1 2 3 4
```
"""

from __future__ import annotations

from helpers.view.primitive.widget import primitive_html, primitive_spec, primitives
from helpers.view.shared.mount import positive, text, whole

OPTIONS = {"nranks": positive, "root": whole, "values": text, "op": text}
KNOWS = {"primitives": primitives}


def html(argument: str, options: dict, content: str = "") -> str:
    """{primitive} NAME"""
    return primitive_html(primitive_spec(argument, **options))
