"""What carries coordinators: their partitions, their records, their clients."""
