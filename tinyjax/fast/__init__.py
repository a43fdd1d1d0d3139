"""Shortcuts: the same results in less time. Each file can be deleted, and so can the folder.

A file opens with what it buys, and registers by `@shortcut_for(function)` what stands in for that
function while shortcuts are on: see tinyjax/shortcuts.py.
"""

from tinyjax.fast import launch_fusion as launch_fusion
