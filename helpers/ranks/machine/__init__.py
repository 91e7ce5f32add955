"""What is here to run on, and what every team of ranks needs from it. Chapters: setup, ranks."""
