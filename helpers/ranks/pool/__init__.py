"""The notebook's side: starting ranks, calling them, watching a call, ending it. Chapters: ranks, hangs."""
