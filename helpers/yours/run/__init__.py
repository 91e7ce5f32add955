"""The verdict on a whole run of `make gpu-check`. Chapter: yours."""
