"""Recorded cases of the chapter loops_on_top."""
