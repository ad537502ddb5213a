"""What this controller process knows of the cluster, as plain data, and the events that change it."""
