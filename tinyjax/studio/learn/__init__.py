"""Exercises: rewrite functions of tinyjax's own source. `python -m tinyjax learn`."""
