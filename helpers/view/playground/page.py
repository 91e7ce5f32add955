"""The playground in prose: draw a schedule, check it, no kernel.

```{playground} broadcast
:nranks: 8
```

```{playground} all_reduce_both
```

```{playground} all_reduce
:nranks: 2
:nchunks: 1

0:0⇒1
0:1→0
```
"""

from __future__ import annotations

from helpers.collectives import Schedule
from helpers.view.playground.widget import SIZES, begun, known, playground_html, playground_spec
from helpers.view.shared.mount import positive, text, whole
from helpers.view.shared.schedules.traces import catalogue, links

OPTIONS = {
    **dict.fromkeys(("nranks", "nchunks"), positive),
    **dict.fromkeys(("root", "step"), whole),
    **dict.fromkeys(("nbytes", "link", "target"), text),
}
KNOWS = {"catalogue": catalogue, "links": links, "playground": known}


def html(argument: str, options: dict, content: str = "") -> str:
    """{playground} COLLECTIVE, COLLECTIVE ALGORITHM to start from, or the name of a target; steps of one's own as its text"""
    shape = {"nranks": 4} | {key: options[key] for key in ("nranks", "nchunks", "root") if key in options}
    state = {"target": argument} if argument in SIZES else {}
    state |= {key: options[key] for key in ("nbytes", "link", "step", "target") if key in options}
    schedule = begun(argument, **shape)
    if content:
        schedule = Schedule.parse("\n".join([str(schedule).splitlines()[0], content]))
    return playground_html(playground_spec(schedule, **state))
