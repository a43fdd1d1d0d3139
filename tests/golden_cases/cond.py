"""Recorded cases of the chapter cond."""
