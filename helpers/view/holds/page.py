"""The widget `holds` in prose; the argument is a way to share out. All options: `holds_spec`.

```{holds} zero-3
:beside: ddp
:at: 14
:rank: 1
```
"""

from __future__ import annotations

from helpers.view.holds.steps import known
from helpers.view.holds.widget import holds_html, holds_spec
from helpers.view.shared.mount import text, whole

OPTIONS = {"beside": text, "at": whole, "rank": whole}
KNOWS = {"holdings": known}


def html(argument: str, options: dict, content: str = "") -> str:
    """{holds} WAY"""
    return holds_html(holds_spec(argument or "zero-3", **options))
