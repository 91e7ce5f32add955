"""What a model needs, term by term."""
