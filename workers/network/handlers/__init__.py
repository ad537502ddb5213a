"""One file per API, numbered by its key."""
