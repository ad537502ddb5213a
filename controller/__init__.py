"""The controller process, the only user of kazoo."""
