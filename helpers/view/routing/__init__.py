"""Where tokens go that are routed to experts: slots, drops, and the all_to_all in one picture."""
