"""Readers of real output: nccl-tests, nvidia-smi, NCCL's log, torch's flight recorder and profiler. Damage is told, never guessed at."""
