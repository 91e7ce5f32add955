"""A schedule on real ranks, and what each message's times were. Chapters: ring, trees, hierarchy."""
