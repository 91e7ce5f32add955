"""How many blocks fit on one SM."""
