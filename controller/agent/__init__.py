"""What every node's controller process does: follow ZooKeeper, and publish the view."""
