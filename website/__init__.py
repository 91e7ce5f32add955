"""The book's own Sphinx extension: theme, cards, formulas, roles, widgets. Loaded by `_config.yml`."""

from sphinx.application import Sphinx

PARTS = (
    "theme",
    "cards",
    "map",
    "katex",
    "roles",
    "lab",
    "conventions",
    "guess.predict",
    "guess.waiting",
    "guess.veil",
    "widgets",
    "sketches",
    "algorithms",
    "hierarchy_table",
    "machines_table",
    "recorded_runs",
    "lab_runs",
    "torch_table",
    "findings",
    "strategies_table",
    "tools_table",
    "warnings_list",
    "charts",
    "cells",
    "set_numbers",
    "search",
    "python",
    "pyz",
    "progress",
    "plans",
    "changes",
)


def setup(app: Sphinx) -> dict[str, bool]:
    """Load every part; each is an extension of its own and can be read alone."""
    for part in PARTS:
        app.setup_extension(f"{__name__}.{part}")
    app.add_config_value("comments_config", {}, "")  # Jupyter Book sets it although sphinx_comments is not loaded
    return {"parallel_read_safe": True, "parallel_write_safe": False}
