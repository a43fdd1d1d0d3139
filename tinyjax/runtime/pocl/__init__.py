"""Workarounds for one OpenCL driver, PoCL."""
