"""Recorded cases of the chapter collectives."""
