"""What NCCL writes with NCCL_DEBUG=INFO, line by line; a torn line is told and nothing of it counts. Chapters: inside-nccl, choosing."""
