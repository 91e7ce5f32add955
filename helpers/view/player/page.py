"""The player in prose.

```{player} all_reduce ring
:nranks: 8
:nbytes: 64 MiB
:link: nvlink-4
:gpus: 4
:across: infiniband-ndr
:versus: hierarchical
```
Or, of a real run of the same schedule, `:recorded: trace-ring-cpu` instead of a size and links. All options: `player_spec`, `resolve`.
"""

from __future__ import annotations

from helpers.view.player.spec import player_spec
from helpers.view.player.text import player_html
from helpers.view.shared.mount import positive, text, whole
from helpers.view.shared.schedules.named import resolve
from helpers.view.shared.schedules.traces import catalogue, links

OPTIONS = {
    **dict.fromkeys(("nranks", "nchunks", "slices", "gpus", "nics"), positive),
    **dict.fromkeys(("root", "step"), whole),
    **dict.fromkeys(("nbytes", "link", "across", "versus", "recorded"), text),
}
KNOWS = {"catalogue": catalogue, "links": links}


def html(argument: str, options: dict, content: str = "") -> str:
    """{player} COLLECTIVE ALGORITHM"""
    keys = ("nranks", "root", "nchunks", "slices", "gpus", "nbytes", "link")
    which = {key: options[key] for key in keys if key in options}
    how = {key: options[key] for key in options if key not in keys[:4]}
    return player_html(player_spec(resolve(argument, **which), **how))
