"""The files of a segment: the writing end, and how they come and go."""
