"""Being written. Builds on bodies."""
