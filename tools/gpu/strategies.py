"""Every strategy of helpers.parallel on this machine's GPUs: equal to one process, with the predicted calls, bytes and memory."""

from __future__ import annotations

from helpers.parallel.report import Line, lines
from helpers.parallel.table import STRATEGIES

from .place import Place


def trained(names: list[str], batch: int) -> dict[str, list[Line]]:
    """Inside a rank: one strategy after the other, a line of every rank."""
    return {name: lines(one := STRATEGIES[name], one.training.but(batch=batch)) for name in names}


def strategies(place: Place) -> dict:
    """The largest difference from single-process training, by strategy. Those that want another number of ranks are left out by name."""
    batch, fitting, left_out = 2 * place.nranks, [], {}
    for name, one in STRATEGIES.items():
        try:
            one.predicted(one.training.but(batch=batch), place.nranks, 0)
            fitting.append(name)
        except ValueError as error:
            left_out[name] = str(error)
    assert fitting, f"no strategy runs on {place.nranks} ranks: {left_out}"
    with place.ranks() as ranks:
        found = ranks.run(trained, fitting, batch)[0]
    wrong = [f"{name}, {text}" for name, every in found.items() for one in every for text in one.wrong]
    assert not wrong, "; ".join(wrong)
    return {
        "difference": {name: max(one.difference for one in every) for name, every in found.items()},
        "left out": left_out,
    }
