"""What a collective takes: measured, fitted, and in nccl-tests' columns. Chapters: ring, latency-bandwidth, benchmarking."""
