"""Charts of training: stages of a step, peaks of memory, the ledger. Chapters: training-memory, too-big, data-parallel to meshes."""
