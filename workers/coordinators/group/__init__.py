"""The group coordinator: one pure state machine for each partition of `__consumer_offsets`."""
