"""The widget `occupancy` in prose. All options: `occupancy_spec`.

```{occupancy} A100
:threads: 256
:registers: 64
:shared: 16 KiB
```
"""

from __future__ import annotations

from helpers.units import parse_nbytes
from helpers.view.occupancy.widget import gpus, occupancy_html, occupancy_spec
from helpers.view.shared.mount import text, whole

OPTIONS = {"threads": whole, "registers": whole, "shared": text}
KNOWS = {"gpus": gpus}


def html(argument: str, options: dict, content: str = "") -> str:
    """{occupancy} ACCELERATOR"""
    shared = {"shared": parse_nbytes(options["shared"])} if "shared" in options else {}
    return occupancy_html(occupancy_spec(argument, **options | shared))
