"""What is alive while a step runs."""
