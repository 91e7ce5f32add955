"""Memory over time in prose: recorded traces by name, the first on show, the others to choose from; no kernel.

```{memory} llama-2-7b llama-2-7b-full
:limit: 80 GiB
:at: 1200
:axis: seconds
```
"""

from __future__ import annotations

from helpers.units import parse_nbytes
from helpers.view.memory.spec import devices, page_html
from helpers.view.shared.mount import text, whole

OPTIONS = {**dict.fromkeys(("at", "rank"), whole), **dict.fromkeys(("limit", "axis"), text)}
KNOWS = {"devices": devices}


def html(argument: str, options: dict, content: str = "") -> str:
    """{memory} NAME [NAME ...] of recorded/memory/NAME.json"""
    limit = {"limit": parse_nbytes(options["limit"])} if "limit" in options else {}
    return page_html(argument.split(), **options | limit)
