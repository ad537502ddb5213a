"""What lies in a log directory, read and judged, never changed: the ground of `headrace dump-log` and `headrace verify`."""
