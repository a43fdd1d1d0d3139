"""Draw the jaxpr of a function, from the shell, or its kernels with the time that each takes.

    python tools/draw_graph.py tinyjax.nn:softmax --args "jnp.ones(3)" -o softmax.svg
    python tools/draw_graph.py model:loss --args "jnp.ones((8, 64))" 2 --transform grad,jit -o g.png
    python tools/draw_graph.py model:loss --args "jnp.ones((8, 64))" 2 --transform grad --kernels -o g.svg

The module is looked for in the current folder too, and may be a file: model.py:loss. Each of --args is a
Python expression which may use jax, jnp and np; of arrays, only shape and dtype matter, but for times.
The transformation named first is applied first: grad,vmap,jit draws jit(vmap(grad(function))).
"""

import argparse
import sys
from collections.abc import Sequence

import tinyjax as jax
from tinyjax import viz
from tinyjax.cli import functions


def main(argv: Sequence[str] | None = None) -> int:
    """Draw what the command line asks for; return the exit status."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    functions.add_arguments(parser)
    parser.add_argument("-o", "--output", required=True, help="a .svg, .png, .pdf or .dot file")
    parser.add_argument("--kernels", action="store_true", help="draw the compiled function, timed")
    options = parser.parse_args(argv)

    function = functions.transformed(options)
    if options.kernels:
        compiled = jax.jit(function).lower(*options.args).compile()
        times = jax.profiler.step_times(lambda: compiled(*options.args))
        graph = viz.kernels(compiled, times)
    else:
        graph = viz.dot(jax.make_jaxpr(function)(*options.args))
    try:
        print(f"wrote {viz.save(graph, options.output)}")
    except (viz.DotNotFound, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
