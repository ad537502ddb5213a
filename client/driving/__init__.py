"""What drives an engine: see README.md."""
