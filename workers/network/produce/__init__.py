"""From a Produce request to the rings, and from their results to its response."""
