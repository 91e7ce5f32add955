"""The widget `published` in prose: up to three runs by their keys (copied from a link, or `Published.key`). All options: `published_spec`.

```{published} B200.all_reduce.4.half.2.27.5.in-2.27.5 B200.all_reduce.4.half.2.29.2.in-2.29.2
:at: 8 MiB
:axis: time
```
"""

from __future__ import annotations

from helpers.view.published.known import known
from helpers.view.published.widget import published_html, published_spec
from helpers.view.shared.mount import text

OPTIONS = {"at": text, "axis": text}
KNOWS = {"published": known}


def html(argument: str, options: dict, content: str = "") -> str:
    """{published} KEY [KEY [KEY]]; without an argument the three runs that tell which NCCL made the rows of a folder."""
    return published_html(published_spec(*argument.split(), **options))
