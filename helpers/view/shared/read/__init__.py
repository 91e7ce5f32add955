"""The readers of floor 2 again, as modules of the page: same fields, same refusals, no DOM."""
