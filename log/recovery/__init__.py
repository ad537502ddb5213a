"""Opening a log: what is checked, where it ends, what its producers did."""
