"""Kernels on devices: queues, memory, and the steps of a call."""
