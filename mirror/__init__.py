"""Topics of other clusters, copied into one: `headrace mirror`."""
