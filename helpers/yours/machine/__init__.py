"""The verdict on what says how a machine is joined. Chapter: yours."""
