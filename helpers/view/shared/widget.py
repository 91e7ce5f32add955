"""The base of every widget: alive in a kernel, data with a readable fallback in a saved notebook and on the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from helpers.view import widgets as table
from helpers.view.shared.bundle import bundle
from helpers.view.shared.mount import Spec
from helpers.view.shared.tokens import css

VIEW = Path(__file__).parents[1]


def stylesheet(name: str) -> str:
    """The tokens, and what a widget wears by its line of the table."""
    return css() + "".join(sheet.read_text(encoding="utf-8") for sheet in table.line(name).sheets)


class CourseWidget(anywidget.AnyWidget):
    """A subclass sets `name` (its folder and its mount's kind) and writes `sentence()` and `html()`."""

    name = ""
    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    live = traitlets.Bool(True, read_only=True).tag(sync=True)  # a kernel is listening; on the page nobody sets it

    @traitlets.default("_esm")
    def _default_esm(self) -> str:
        return bundle(table.line(self.name).entry)

    @traitlets.default("_css")
    def _default_css(self) -> str:
        return stylesheet(self.name)

    def sentence(self) -> str:
        """What the widget shows, in one line that is the same on every run."""
        raise NotImplementedError

    def html(self) -> str:
        """The mount element that a saved notebook keeps."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.sentence()})"

    def _repr_mimebundle_(self, **kwargs: object) -> tuple[dict, dict]:
        data, metadata = super()._repr_mimebundle_(**kwargs)
        return {**data, "text/html": self.html(), "text/plain": repr(self)}, metadata


class SpecWidget(CourseWidget):
    """Its whole state is one spec. A subclass also sets `about` ("no spec of a clock: ...") and three functions: `spec_of` makes a spec
    of its fields, ValueError or TypeError for what cannot be drawn; `said` tells it in a sentence, `mounted` is its mount. What its
    page.py says that it KNOWS are traits that the subclass declares.
    """

    about = ""
    asks: tuple[str, ...] = ()  # what its page may ask of the kernel: "module:function", which gives a JSON text
    spec_of: Callable[..., Spec]
    said: Callable[[Spec], str]
    mounted: Callable[[Spec], str]
    spec = traitlets.Dict().tag(sync=True)

    def __init__(self, spec: Spec):
        self._saved = spec  # what a saved notebook shows is what the cell asked for
        super().__init__(
            spec=spec.as_json(), **{name: value() for name, value in table.line(self.name).page.KNOWS.items()}
        )
        self.on_msg(self._answer)

    def _answer(self, _: object, message: Mapping[str, Any], buffers: Sequence[bytes]) -> None:
        """The JSON that one of `asks` gives, or the error; python.mjs has written the message."""
        if (path := message.get("ask")) not in self.asks:
            return
        module, _, name = path.partition(":")
        rest = iter(buffers)
        args = [bytes(next(rest)) if one is None else one for one in message["args"]]
        try:
            said = {"value": getattr(import_module(module), name)(*args)}
        except Exception as error:
            said = {"error": f"{type(error).__name__}: {error}"}
        self.send({"answer": message["number"], **said})

    def sentence(self) -> str:
        return self.said(self._saved)

    def html(self) -> str:
        return self.mounted(self._saved)

    def read(self, data: dict) -> Spec:
        """The spec that a page sends, proved."""
        return self.spec_of(**vars(type(self._saved).read(data)))

    @traitlets.validate("spec")
    def _valid(self, proposal: dict) -> dict:
        """Only what can be drawn; else TraitError with the reason."""
        try:
            return self.read(proposal["value"]).as_json()
        except (TypeError, ValueError) as error:
            raise traitlets.TraitError(f"no spec of {self.about}: {error}") from error
