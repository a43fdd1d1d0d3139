"""Recorded cases of the chapter checkpoint."""
