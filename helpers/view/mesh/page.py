"""The widget `mesh` in prose; the argument are the axes, the outermost first. All options: `mesh_spec`.

```{mesh} data=2 pipeline=2 tensor=2
:expert: 2
:gpus: 4
:axis: pipeline
:rank: 5
```
"""

from __future__ import annotations

from helpers.view.mesh.widget import mesh_html, mesh_spec
from helpers.view.shared.mount import positive, text, whole

OPTIONS = {"expert": positive, "gpus": positive, "axis": text, "rank": whole}
KNOWS = {}


def html(argument: str, options: dict, content: str = "") -> str:
    """{mesh} AXIS=RANKS ..."""
    sizes = {}
    for word in argument.split():
        name, _, size = word.partition("=")
        if name in sizes:
            raise ValueError(f"an axis comes once, got {name!r} twice")
        sizes[name] = _size(name, size)
    return mesh_html(mesh_spec(**{**sizes, **options}))


def _size(name: str, size: str) -> int:
    try:
        return positive(size)
    except ValueError as error:
        raise ValueError(f'an axis is written with its ranks, as "data=2"; {name!r}: {error}') from None
