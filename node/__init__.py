"""The supervisor and what surrounds it."""
