"""What a page lacks. An import of it works, so that a lab's first cell runs unchanged; the first use of a name is one clear error."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

from helpers.page import charts, outputs, widgets

# A package, and what a block that uses it needs.
LACKS = {
    "torch": "torch",
    "numpy": "numpy",
    "jax": "JAX",
    "cloudpickle": "ranks",
    "helpers.arrays": "numpy",
    "helpers.ranks": "ranks",
    "helpers.measure": "torch",
    "helpers.tracker": "torch",
    "helpers.step": "torch",
    "helpers.parallel": "torch",
    "helpers.patches": "torch",
}
# A package, and those of its names that stand in for it.
STAND_INS = {
    "anywidget": widgets,
    "traitlets": widgets,
    "IPython": ModuleType("IPython"),
    "IPython.display": outputs,
    "plotly": ModuleType("plotly"),
    "plotly.graph_objects": charts,
}


class AbsentError(RuntimeError):
    """A block used what the page lacks."""


def lacks(module: str) -> str:
    """What a block needs that uses a module: "ranks" of helpers.ranks.timing; "" where the page has it."""
    parts = module.split(".")
    return next((LACKS[one] for end in range(len(parts), 0, -1) if (one := ".".join(parts[:end])) in LACKS), "")


def _refuse(self: type, *_: object, **__: object) -> None:
    raise AbsentError(_told(self.__qualname__, self.need))


def _told(name: str, need: str) -> str:
    return f"{name}: this block needs {need}, which a page does not have. The lab runs it: make lab"


_USES = (
    "call iter len getitem setitem contains enter exit next bool index int float add radd sub rsub mul rmul truediv rtruediv matmul"
    " rmatmul pow neg lt le gt ge mod floordiv"
)
_Refuses = type("_Refuses", (type,), {f"__{use}__": _refuse for use in _USES.split()})


class _Absent(_Refuses):
    """The class of every name of an absent package. A class itself, it may be a base, an annotation, or what `except` catches."""

    def __getattr__(cls, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return _absent(f"{cls.__qualname__}.{name}", cls.need)

    def __instancecheck__(cls, _: object) -> bool:
        return False

    def __repr__(cls) -> str:
        return f"<{cls.__qualname__}, which a page does not have>"


def _absent(name: str, need: str) -> type:
    return _Absent(name.rpartition(".")[2], (Exception,), {"need": need, "__qualname__": name})


class _Module(ModuleType):
    """An absent package: whatever is taken from it is absent, too."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return _absent(f"{self.__name__}.{name}", lacks(self.__name__))


class _Finder:
    """Last of the finders, so that whatever is there comes first."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if lacks(name) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


_FINDER = _Finder()


def stand_in() -> None:
    """From now on, imports of what is not there find its stand-ins."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.append(_FINDER)
        sys.modules |= {name: module for name, module in STAND_INS.items() if not find_spec(name.split(".")[0])}


def absence(error: BaseException) -> AbsentError | None:
    """The error of a package that a page could not have, as one that says so."""
    need = lacks(error.name or "") if isinstance(error, ModuleNotFoundError) else ""
    return AbsentError(_told(error.name, need)) if need else None
