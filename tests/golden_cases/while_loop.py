"""Recorded cases of the chapter while_loop."""
