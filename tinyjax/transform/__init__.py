"""Transformations of functions: each is a file or a folder."""
