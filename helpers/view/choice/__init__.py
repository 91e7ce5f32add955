"""What NCCL chose: every candidate over the size, two versions beside each other."""
