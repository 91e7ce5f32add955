"""The widget `overlap` in prose; the argument is "buckets", "units" or "recorded". All options: `overlap_spec`; share is in percent.

```{overlap} buckets
:bucket: 25 MiB
:model: Llama-2-7B
:tokens: 4096
:link: nvlink-4
```
"""

from __future__ import annotations

from helpers.view.overlap.asked import overlap_spec
from helpers.view.overlap.jobs import known
from helpers.view.overlap.widget import overlap_html
from helpers.view.shared.mount import positive, text, whole
from helpers.view.shared.schedules.traces import links

OPTIONS = {
    **dict.fromkeys(("model", "gpu", "link", "bucket", "way"), text),
    **dict.fromkeys(("tokens", "share"), positive),
    "prefetch": whole,
}
KNOWS = {"links": links, "overlaps": known}


def html(argument: str, options: dict, content: str = "") -> str:
    """{overlap} MODE"""
    return overlap_html(overlap_spec(argument or "buckets", **options))
