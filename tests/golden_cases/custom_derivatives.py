"""Recorded cases of the chapter custom_derivatives."""
