"""What lies between GPUs: the places of one way, the ways of a machine, and the switches of a network."""
