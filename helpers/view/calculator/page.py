"""The memory calculator in prose, no kernel.

```{calculator} Llama-2-7B
:batch: 1
:seq: 4096
:checkpoint: full
:zero: 3
:data: 8
:device: H100
```

```{calculator} Llama-3-8B
:mode: serve
:batch: 16
```
"""

from __future__ import annotations

from helpers.view.calculator.forms import forms
from helpers.view.calculator.widget import calculator_html, calculator_spec
from helpers.view.shared.mount import flag, positive, text, whole

OPTIONS = {
    **dict.fromkeys(("batch", "seq", "data", "tensor", "width", "cache"), positive),
    **dict.fromkeys(("mode", "device", "precision", "optimizer", "attention", "checkpoint"), text),
    "zero": whole,
    "sequence": flag,
}
KNOWS = {"forms": forms}


def html(argument: str, options: dict, content: str = "") -> str:
    """{calculator} MODEL"""
    return calculator_html(calculator_spec(argument, **options))
