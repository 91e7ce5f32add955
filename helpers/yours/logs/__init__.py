"""The verdict on a log of NCCL. Chapter: yours."""
