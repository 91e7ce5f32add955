"""What a training step is made of: models, recipes, types, checkpointing. Chapters: training-memory, too-big."""
