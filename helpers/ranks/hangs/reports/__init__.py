"""The fault reports, one a file: `reporting` finds them here by itself. Chapter: hangs."""
