"""Exercises: functions of tinyjax's own source, to be written again. `python -m tinyjax learn`."""
