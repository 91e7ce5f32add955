"""The dumps of torch's flight recorder from all ranks: who is where, who has not come. Chapter: hangs."""
