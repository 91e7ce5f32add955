"""Charts: plain data in, a plotly figure out."""

from helpers.view.figures.training.ledger import ledger, ledger_memory

__all__ = ["ledger", "ledger_memory"]
