"""NCCL's three protocols on one clock."""
