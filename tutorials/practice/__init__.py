"""Code of the lessons' pages that is not tinyjax's own: toys that show one idea, and programs that use it."""
