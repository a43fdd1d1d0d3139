"""Pallas: custom kernels. jax.experimental.pallas has the public names, the first of which imports this
folder.

It registers at no hook: pallas_call is a primitive with rules, and a call that the compiler opens (`CALLS` in
core/inlining.py).
"""

from tinyjax.pallas import rules as rules
