"""Draw the jaxpr of a function, from the shell.

    python tools/draw_graph.py tinyjax.nn:softmax --args "jnp.ones(3)" -o softmax.svg
    python tools/draw_graph.py model:loss --args "jnp.ones((8, 64))" 2 --transform grad,jit -o g.png

The module is looked for in the current folder too. Each of --args is a Python expression which may
use jax, jnp and np; of arrays, only shape and dtype matter. The transformation named first is
applied first: grad,vmap,jit draws jit(vmap(grad(function))).
"""

import argparse
import importlib
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import viz

TRANSFORMS: dict[str, Callable[..., Any]] = {
    "grad": jax.grad,
    "value_and_grad": jax.value_and_grad,
    "jacfwd": jax.jacfwd,
    "jacrev": jax.jacrev,
    "hessian": jax.hessian,
    "vmap": jax.vmap,
    "jit": jax.jit,
}


def function_at(place: str) -> Callable[..., Any]:
    """The function at `module:function`."""
    module, _, function = place.partition(":")
    if not (module and function):
        raise argparse.ArgumentTypeError(f"{place!r} is not of the form module:function")
    try:
        return operator.attrgetter(function)(importlib.import_module(module))
    except (ImportError, AttributeError) as error:
        raise argparse.ArgumentTypeError(f"cannot find {place!r}: {error}") from error


def value_of(expression: str) -> Any:
    """The value of a Python expression over jax, jnp and np."""
    try:
        return eval(expression, {"jax": jax, "jnp": jnp, "np": np})
    except Exception as error:
        raise argparse.ArgumentTypeError(f"cannot evaluate {expression!r}: {error}") from error


def transforms_named(names: str) -> list[Callable[..., Any]]:
    """The transformations in a list such as grad,vmap,jit."""
    unknown = [name for name in names.split(",") if name not in TRANSFORMS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(TRANSFORMS)}")
    return [TRANSFORMS[name] for name in names.split(",")]


def main(argv: Sequence[str] | None = None) -> int:
    """Draw what the command line asks for; return the exit status."""
    sys.path.insert(0, "")
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("function", type=function_at, metavar="module:function")
    parser.add_argument("--args", type=value_of, nargs="*", default=[], metavar="EXPR")
    parser.add_argument("--transform", type=transforms_named, default=[], metavar="NAME,...")
    parser.add_argument("-o", "--output", required=True, help="a .svg, .png, .pdf or .dot file")
    options = parser.parse_args(argv)

    function = options.function
    for transform in options.transform:
        function = transform(function)
    graph = viz.dot(jax.make_jaxpr(function)(*options.args))
    try:
        print(f"wrote {viz.save(graph, options.output)}")
    except (viz.DotNotFound, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
