"""The transformations, one file each; tinyjax.STEPS has the order to read them in."""
