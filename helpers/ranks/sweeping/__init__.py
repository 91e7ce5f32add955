"""One collective under several settings of NCCL, each in fresh ranks, and what its log says. Chapters: benchmarking, choosing."""
