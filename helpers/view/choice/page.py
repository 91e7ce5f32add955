"""The widget `choice` in prose; the argument is a machine of helpers.facts. All options: `choice_spec`.

```{choice} HGX-B200
:nbytes: 8 MiB
:nranks: 4
:version: 2.29.2
:beside: 2.28.9
```
"""

from __future__ import annotations

from helpers.view.choice.asked import published
from helpers.view.choice.widget import choice_html, choice_spec
from helpers.view.shared.mount import positive, text
from helpers.view.shared.nccl import known

OPTIONS = {
    "nbytes": text,
    "collective": text,
    "version": text,
    "beside": text,
    "nodes": positive,
    "nranks": positive,
}
KNOWS = {"nccl": known, "nccl_runs": published}


def html(argument: str, options: dict, content: str = "") -> str:
    """{choice} MACHINE"""
    return choice_html(choice_spec(argument or "HGX-H100", **options))
