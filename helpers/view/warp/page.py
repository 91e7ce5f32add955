"""The widget `warp` in prose. All options: `warp_spec`.

```{warp} memory
:stride: 8
```
"""

from __future__ import annotations

from helpers.view.shared.mount import text, whole
from helpers.view.warp.widget import warp_html, warp_spec

OPTIONS = {**dict.fromkeys(("taken", "other", "stride", "offset", "nbytes"), whole), "branch": text}
KNOWS = {}


def html(argument: str, options: dict, content: str = "") -> str:
    """{warp} VIEW"""
    return warp_html(warp_spec(argument, **options))
