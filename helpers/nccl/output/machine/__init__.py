"""What the tools of a machine say of it: matrices of links, tables of GPUs, ports, rates."""
