"""What nccl-tests and nvidia-smi print, as values that agree with themselves, or an error. Chapters: benchmarking, interconnects."""
