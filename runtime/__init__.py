"""What every process of a node does alike."""
