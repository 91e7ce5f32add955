"""One step in seven stages, drawn, recorded, and set beside the article's table. Chapter: training-memory."""
