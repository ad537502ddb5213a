"""Topics that are created, grow and are deleted."""
