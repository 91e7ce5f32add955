"""What every rank says of its operations, readable while it is stuck. Chapter: hangs."""
