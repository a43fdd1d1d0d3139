"""Recorded cases of the chapter callbacks."""
