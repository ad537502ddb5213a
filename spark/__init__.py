"""Spark reads segments from the page cache."""
