"""A step's memory without the memory: the same step on the meta device. Chapters: too-big, allocator."""
