"""Inside NCCL: a message cut up, primitives of a ring, a tree, rounds in stages, a sweep, engines. Plain data in, figures out."""
