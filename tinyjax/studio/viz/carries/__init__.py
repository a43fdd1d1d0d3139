"""The carries of loops, iteration by iteration."""
