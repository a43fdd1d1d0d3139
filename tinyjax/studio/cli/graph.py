"""Draw a function at any stage: its jaxpr, values, a transformation's steps, or kernels with times.

Example: python -m tinyjax graph model.py:loss --args "jnp.ones(3)" --transform grad --stage jvp -o loss.svg
"""

import argparse
import sys
from collections.abc import Callable
from typing import Any

import graphviz

import tinyjax as jax
from tinyjax.core.tree_util.pytrees import tree_leaves
from tinyjax.many_devices.sharding.traffic import places_of
from tinyjax.studio import viz
from tinyjax.studio.cli import functions


def _jaxpr(function: Callable[..., Any], *args: Any) -> graphviz.Digraph:
    places = places_of(tree_leaves(args))
    return viz.dot(jax.make_jaxpr(function)(*args), in_shardings=places)


def _kernels(function: Callable[..., Any], *args: Any) -> graphviz.Digraph:
    compiled = jax.jit(function).lower(*args).compile()
    return viz.kernels(compiled, jax.profiler.step_times(lambda: compiled(*args)))


# name -> (drawing function, description)
STAGES: dict[str, tuple[Callable[..., graphviz.Digraph], str]] = {
    "jaxpr": (_jaxpr, "the equations of the function"),
    "values": (viz.values, "the same, with the values that they give"),
    "jvp": (viz.jvp, "with primals and tangents"),
    "vmap": (viz.vmap, "over a batch: axis 0 of each argument"),
    "linearize": (viz.linearize, "what is known, and what is linear and left for later"),
    "transpose": (viz.transpose, "the forward pass, and cotangents that flow back"),
    "pmap": (viz.pmap, "on a device for each slice of axis 0 of the arguments"),
    "traces": (viz.trace_stack, "the traces that a bind of it goes through"),
    "passes": (viz.pass_graph, "before and after each pass of the compiler, with what changed lit"),
    "kernels": (_kernels, "compiled: what is one kernel, and how long it takes"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    stages = "\n".join(f"  {name:10} {about}" for name, (_, about) in STAGES.items())
    parser.epilog = f"stages, each of the function after its transformations:\n{stages}\n\n"
    parser.epilog += functions.ARGUMENTS
    functions.add_arguments(parser)
    parser.add_argument("--stage", choices=STAGES, default="jaxpr", help="default: %(default)s")
    parser.add_argument(
        "-o", "--output", required=True, help=".svg, .html (to zoom and search), .png, .pdf or .dot"
    )


def run(options: argparse.Namespace) -> int:
    """Draw the requested stage; return the exit status."""
    draw, _ = STAGES[options.stage]
    try:
        functions.find(options)
    except argparse.ArgumentTypeError as error:
        print(f"tinyjax graph: {error}", file=sys.stderr)
        return 2
    try:
        graph = draw(functions.transformed(options), *options.args)
    # raised by the function, or by a transformation that doesn't accept it
    except Exception as error:
        print(functions.in_short(error), file=sys.stderr)
        return 1
    try:
        print(f"wrote {viz.save(graph, options.output)}")
    except (viz.DotNotFound, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0
