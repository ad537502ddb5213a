"""Pure state machines of the group and transaction coordinators."""
