"""The allocator's segments in prose: a little program, stepped through without a kernel.

```{segments} a title
:mode: fixed
:limit: 40 MiB
:step: 3

a = 6 MiB
b = 3 MiB
del a
```

Instead of a program: `:lab:`, the widget of that title in the page's own lab, or `:recorded: article-cuda-like`, a recorded trace.
"""

from __future__ import annotations

from helpers.view.segments.spec import segments_spec
from helpers.view.segments.widget import segments_html
from helpers.view.shared.mount import text, whole

OPTIONS = {"step": whole, **dict.fromkeys(("mode", "limit", "recorded"), text)}
KNOWS = {}


def html(argument: str, options: dict, content: str = "") -> str:
    """{segments} TITLE, and a program as its text"""
    how = {key: options[key] for key in ("mode", "limit", "step") if key in options}
    return segments_html(segments_spec(options.get("recorded") or content, label=argument, **how))
