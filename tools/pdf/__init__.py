"""The book in one file: `python -m tools.pdf`."""
