"""Every published time of nccl-tests, to explore: up to three runs at once, NCCL's model and a plain line beside them."""
