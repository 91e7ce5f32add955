"""The widget `clock` in prose; at is a time in nanoseconds. All options: `clock_spec`.

```{clock}
:nbytes: 64 KiB
:link: nvlink-4
:at: 6661
```
"""

from __future__ import annotations

from helpers.view.clock.widget import clock_html, clock_spec, protocols
from helpers.view.shared.mount import text, whole
from helpers.view.shared.schedules.traces import links

OPTIONS = {"nbytes": text, "link": text, "at": whole}
KNOWS = {"links": links, "protocols": protocols}


def html(argument: str, options: dict, content: str = "") -> str:
    """{clock}, without an argument"""
    return clock_html(clock_spec(**options))
