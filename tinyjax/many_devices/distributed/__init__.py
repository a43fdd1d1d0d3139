"""Several processes: connecting, synchronizing and ending together."""
