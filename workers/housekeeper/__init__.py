"""The housekeeper process."""
