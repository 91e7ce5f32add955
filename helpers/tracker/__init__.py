"""Every byte of a training step, as it is made and dropped. Chapters: training-memory, too-big."""
