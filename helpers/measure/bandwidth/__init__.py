"""How fast memory is: rungs, roofs, and operations under them. Chapters: memory-hierarchy, roofline."""
