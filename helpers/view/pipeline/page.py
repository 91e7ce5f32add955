"""The widget `pipeline` in prose; the argument is a schedule of helpers.pipeline. All options: `pipeline_spec`.

```{pipeline} 1f1b
:nranks: 4
:nmicrobatches: 8
:times: 1 1 1 0
:versus: gpipe
```
`:nvirtual:` is for what interleaves. `times`: forward, the backward's two parts (input, weight), and a hop from stage to stage. `:fsdp:`
alone: the stages' parameters are sharded as well.
A schedule of your own stands in the text as `str` prints it, and needs no argument.
"""

from __future__ import annotations

from functools import partial

from helpers.pipeline import SCHEDULES, PipelineSchedule
from helpers.view.pipeline.spec import known, pipeline_spec, texts
from helpers.view.pipeline.widget import pipeline_html
from helpers.view.shared.mount import flag, positive, text, whole

OPTIONS = {
    **dict.fromkeys(("nranks", "nmicrobatches", "nvirtual"), positive),
    **dict.fromkeys(("times", "versus"), text),
    "fsdp": flag,
    "step": whole,
}
KNOWS = {"pipelines": known}
LATER = {f"pipeline-{name}": partial(texts, name) for name in SCHEDULES}  # what the shim loads when it is shown


def html(argument: str, options: dict, content: str = "") -> str:
    """{pipeline} SCHEDULE, or {pipeline} with the text of one"""
    if argument and content:
        raise ValueError(f"a pipeline is a name or a text of its own, got {argument!r} and a text")
    return pipeline_html(pipeline_spec(PipelineSchedule.parse(content) if content else argument or "1f1b", **options))
