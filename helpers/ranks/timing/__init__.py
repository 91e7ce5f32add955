"""What a collective takes: measured, fitted, taken apart, and in nccl-tests' columns. Chapters: ring, latency-bandwidth, benchmarking."""
