"""A partition's log, and what is appended to it or cut from it."""
