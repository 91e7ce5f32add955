"""The rank's own side: becoming one, what a function finds there, how it ends. Chapters: ranks, hangs."""
