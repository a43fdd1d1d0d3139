"""Recorded cases of the chapter scan."""
