"""The widget `yours` in prose; the argument is the example that stands there first.

```{yours} ring
:machine: HGX-H200
```
"""

from __future__ import annotations

from helpers.view.shared.options import text
from helpers.view.yours.known import judged, known
from helpers.view.yours.widget import yours_html, yours_spec

OPTIONS = {"machine": text}
KNOWS = {"yours": known, "yours_examples": judged}


def html(argument: str, options: dict, content: str = "") -> str:
    """{yours} EXAMPLE"""
    return yours_html(yours_spec(argument or "ring", options.get("machine")))
