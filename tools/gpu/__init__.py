"""What `python -m tools.gpu_check` checks, one function per check. Needs only what floor 3 of `helpers` needs."""
