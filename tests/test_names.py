"""One meaning a name: what two packages of the library hand on by one name is one thing."""

import importlib
import pkgutil
from collections import defaultdict

import pytest

import helpers


def handed_on(packages: dict[str, object]) -> dict[str, dict[str, object]]:
    """{name: {package: what it is there}} of every name in the __all__ of these packages."""
    found: dict[str, dict[str, object]] = defaultdict(dict)
    for package, module in packages.items():
        for name in getattr(module, "__all__", ()):
            found[name][package] = getattr(module, name)
    return found


def ambiguous(packages: dict[str, object]) -> dict[str, list[str]]:
    """{name: packages} where the things are not the same."""
    names = handed_on(packages)
    return {name: sorted(at) for name, at in names.items() if len({id(thing) for thing in at.values()}) > 1}


@pytest.fixture(scope="module")
def packages() -> dict[str, object]:
    """The packages that notebooks import from; memory's rooms are among them."""
    found = [m.name for m in pkgutil.walk_packages(helpers.__path__, "helpers.") if m.ispkg]
    names = [name for name in found if name.count(".") == 1 or name.startswith("helpers.memory.")]
    return {name: importlib.import_module(name) for name in names}


def test_no_name_means_two_things(packages):
    assert len(packages) >= 10 and len(handed_on(packages)) > 150
    assert ambiguous(packages) == {}


def test_a_second_meaning_is_found(packages):
    class Price:
        """Of something else."""

    other = type(
        "package", (), {"__all__": ["Price", "check"], "Price": Price, "check": packages["helpers.collectives"].check}
    )
    assert ambiguous(packages | {"other": other}) == {"Price": ["helpers.collectives", "other"]}
