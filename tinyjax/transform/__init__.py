"""Functions to functions: a transformation a file, or a folder."""
