"""Shortcuts: the same results in less time. Each file of this folder can be deleted."""
