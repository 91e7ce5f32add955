"""What lies between GPUs: the places of one way, and the switches of a network."""
