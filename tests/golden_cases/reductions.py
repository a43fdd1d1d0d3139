"""Recorded cases of the chapter reductions."""
