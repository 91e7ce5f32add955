"""The widget `yours` in prose; the argument is the example that stands there first.

```{yours} ring
:machine: HGX-H200
```
`:door:` is its small form, for a page that leads to it: the box, the verdict beside it with its first cause, and what else it says folded.
"""

from __future__ import annotations

from helpers.view.shared.mount import flag, text
from helpers.view.yours.known import known
from helpers.view.yours.widget import judged, yours_html, yours_spec

OPTIONS = {"machine": text, "door": flag}
KNOWS = {"yours": known, "yours_examples": judged}


def html(argument: str, options: dict, content: str = "") -> str:
    """{yours} EXAMPLE"""
    return yours_html(yours_spec(argument or "ring", options.get("machine"), door=options.get("door", False)))
