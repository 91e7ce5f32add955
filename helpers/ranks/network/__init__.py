"""Any network, emulated between CPU ranks: every message comes when the model says. Chapters: ring, latency-bandwidth."""
