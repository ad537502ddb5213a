"""What the elected controller alone does: topics come, grow and go; partitions get leaders."""
