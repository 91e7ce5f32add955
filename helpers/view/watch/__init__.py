"""A call on ranks while it runs."""
