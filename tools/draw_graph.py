"""Draw a function at any stage: another name for `python -m tinyjax graph`, with the same arguments.

python tools/draw_graph.py tinyjax.nn:softmax --args "jnp.ones(3)" --stage jvp -o softmax.svg
"""

import sys

from tinyjax.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["graph", *sys.argv[1:]]))
