"""The widget `calculator`: what a training step, or a server, needs of a device's memory, term by term, each list open to the reader.

Beside the formulas stands the peak of a predicted run where one is recorded. The page adds up the same lists in JavaScript, tested equal.
Chapters: training-memory, too-big.
"""

from __future__ import annotations

from dataclasses import dataclass

import traitlets

from helpers.memory.closed_form import FormError, Step, Terms, inference, step
from helpers.memory.sharding import Sharding, ShardingError
from helpers.units import nbytes_text
from helpers.view.calculator.forms import DEVICES, TENSORS, forms
from helpers.view.shared.mount import Spec, fallback, mount
from helpers.view.shared.widget import SpecWidget
from helpers.view.shared.words import column

MODES = ("train", "serve")
TRAINING = {
    "precision": "bf16",
    "optimizer": "adamw",
    "attention": "flash",
    "checkpoint": "none",
    "zero": 0,
    "data": 8,
    "tensor": 1,
    "sequence": False,
}
SPLIT = ("zero", "data", "tensor", "sequence")
SERVING = {"width": 2, "cache": 2}
OFFERED = {"width": (1, 2, 4), "cache": (1, 2), "data": (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)}


@dataclass(frozen=True)
class CalculatorSpec(Spec):
    """The whole state of the widget: a model on a device, and how it is trained or served; the page is given its mode's own fields.

    data, tensor: ranks. width, cache: bytes of a parameter, and of a number in the cache.
    """

    model: str
    mode: str
    batch: int
    seq: int
    device: str
    precision: str | None = None
    optimizer: str | None = None
    attention: str | None = None
    checkpoint: str | None = None
    zero: int | None = None
    data: int | None = None
    tensor: int | None = None
    sequence: bool | None = None
    width: int | None = None
    cache: int | None = None

    def left_out(self) -> dict:
        """What the other mode takes."""
        return SERVING if self.mode == "train" else TRAINING


def calculator_spec(
    model: str = "Llama-2-7B",
    mode: str = "train",
    batch: int = 1,
    seq: int | None = None,
    device: str = "H100",
    **how: object,
) -> CalculatorSpec:
    """The state that the reader begins with. how: TRAINING's or SERVING's keys, each with the value shown there unless told.

    ValueError naming what was given and what was expected: an unknown device or key, or a choice that the formulas refuse.
    """
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, got {mode!r}")
    if device not in DEVICES:
        raise ValueError(f"device must be one of {', '.join(DEVICES)}, got {device!r}")
    usual = TRAINING if mode == "train" else SERVING
    if unknown := sorted(set(how) - set(usual)):
        raise ValueError(f"to {mode} takes {', '.join(usual)}, got {unknown[0]}={how[unknown[0]]!r}")
    named = {one["name"]: one for one in forms()["models"]}
    if model not in named:
        raise ValueError(f"model must be one of {', '.join(named)}, got {model!r}")
    seq = named[model]["context"] if seq is None else seq
    spec = CalculatorSpec(model, mode, batch, seq, device, **usual | how)
    _refuse(spec)
    return spec


def _refuse(spec: CalculatorSpec) -> None:
    """ValueError for what the page does not offer, or what the formulas refuse."""
    for name in ("batch", "seq"):
        value = getattr(spec, name)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 2**20:
            raise ValueError(f"{name} must be a whole number from 1 to 1,048,576, got {value!r}")
    for name, offered in {**OFFERED, "tensor": TENSORS}.items():
        value = getattr(spec, name)
        if name not in spec.left_out() and (isinstance(value, bool) or value not in offered):
            raise ValueError(f"{name} must be one of {', '.join(map(str, offered))}, got {value!r}")
    try:
        computed(spec)
    except (FormError, ShardingError) as error:
        raise ValueError(str(error)) from None


def computed(spec: CalculatorSpec) -> Step | Terms:
    """What the formulas say of it: a Step to train, Terms to serve."""
    if spec.mode == "serve":
        return inference(spec.model, spec.batch, spec.seq, spec.width, spec.cache)
    how = {key: getattr(spec, key) for key in TRAINING if key not in SPLIT}
    return step(spec.model, spec.batch, spec.seq, **how, sharding=sharding(spec))


def sharding(spec: CalculatorSpec) -> Sharding:
    """How a choice shares the step out; replicas that share nothing do not matter to one rank."""
    data = spec.data if spec.zero else 1
    return Sharding(zero=spec.zero, data=data, tensor=spec.tensor, sequence=spec.sequence and spec.tensor > 1)


def terms(spec: CalculatorSpec) -> Terms:
    """What stands in memory at the highest moment."""
    made = computed(spec)
    return made.terms if isinstance(made, Step) else made


def capacity(spec: CalculatorSpec) -> int:
    """Bytes of the device."""
    return DEVICES[spec.device]


def calculator_sentence(spec: CalculatorSpec) -> str:
    """Llama-2-7B trains on 1 sequence of 4,096 tokens: 108 GiB, at the loss; an H100 has 80 GiB."""
    made, many = computed(spec), "s" * (spec.batch > 1)
    if spec.mode == "serve":
        what = f"serves {spec.batch} request{many} of {spec.seq:,} tokens: {nbytes_text(made.total)}"
    else:
        place = made.moments and made.where
        what = f"trains on {spec.batch} sequence{many} of {spec.seq:,} tokens: {nbytes_text(made.peak)}, at: {place}"
    return f"{spec.model} {what}; device {spec.device}: {nbytes_text(capacity(spec))}"


def calculator_html(spec: CalculatorSpec) -> str:
    """The mount element: the spec, and for readers without JavaScript one sentence and the terms as a table."""
    found = terms(spec)
    held, sizes = column("Held", [term.nbytes for term in found], "B")
    rows = [(term.name, term.formula, size) for term, size in zip(found, sizes, strict=True)]
    text = fallback(f"{calculator_sentence(spec)}.", ("Term", "Formula", held), rows, "At the highest moment")
    return mount("calculator", spec.as_json(), text)


class Calculator(SpecWidget):
    """The calculator. `spec` is what stands there now; `terms` what it adds up to."""

    name = "calculator"
    about = "a calculator"
    said, mounted = map(staticmethod, (calculator_sentence, calculator_html))
    forms = traitlets.Dict().tag(sync=True)

    def read(self, data: dict) -> CalculatorSpec:
        return calculator_spec(**data)

    @property
    def terms(self) -> Terms:
        """What stands in memory at the highest moment, as closed_form has it."""
        return terms(CalculatorSpec.read(self.spec))


def calculator(model: str = "Llama-2-7B", **how: object) -> Calculator:
    """calculator("Llama-3-8B", batch=2, checkpoint="full", zero=3, data=8, device="A100"); arguments as calculator_spec."""
    return Calculator(calculator_spec(model, **how))
