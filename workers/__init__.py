"""Network workers, partition workers and the housekeeper."""
