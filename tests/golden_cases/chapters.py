"""The chapters of recorded cases that have a module, and data files, of their own.

A chapter's module may have

- `jaxprs(jax, jnp, lax)`: {name: thunk}, recorded as `str(thunk())` in golden/<chapter>.jaxprs.txt,
- `GROUPS`: a list of codec.Group, whose calls are recorded in golden/<chapter>.values.json,
- `ERRORS`: {section: [(bad call, texts that the message names)]}, in golden/<chapter>.errors.json,
- `names(jax, jnp, lax)`: what the calls may use besides inputs.names: functions, mostly.
"""

import importlib

CHAPTERS = (
    "cond",
    "while_loop",
    "solves",
    "scan",
    "custom_derivatives",
    "checkpoint",
    "autodiff",
    "collectives",
    "callbacks",
    "loops_on_top",
    "reductions",
    "matrix",
    "linear_systems",
    "matrices",
    "ode",
    "jet",
    "optimizers",
    "special",
    "lax_rest",
    "interpolation",
    "fft",
    "convolution",
    "decompositions",
    "least_squares",
    "matrix_functions",
    "checkify",
    "segments",
    "root_names",
    "stax",
    "signal",
    "iterative_solvers",
    "counts",
    "distributions",
    "attention",
    "minimize",
    "small_dtypes",
    "densities",
    "statistics",
    "kde",
    "image",
    "draws",
    "rotations",
)


def modules():
    """{chapter: its module}"""
    return {name: importlib.import_module(f"golden_cases.{name}") for name in CHAPTERS}


def names(chapter, jax, jnp, lax):
    """What a chapter's calls may use besides inputs.names."""
    return getattr(modules()[chapter], "names", lambda *_: {})(jax, jnp, lax)


def having(attribute):
    """{chapter: the attribute of its module}, of the modules that have it."""
    return {
        chapter: getattr(module, attribute)
        for chapter, module in modules().items()
        if hasattr(module, attribute)
    }
