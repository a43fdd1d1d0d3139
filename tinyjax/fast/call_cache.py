"""A jitted call that has been made before: one lookup, from the arguments to the compiled program.

A fast path: the story is told by jit.py, and a reader who skips this file loses nothing of it. There a
call is bound as `jit_p`, the current trace asked, the jaxpr looked up and then its executable. When
nothing is traced and no `with` block changes the configuration, all this leads to where it led before:
that is remembered here. Within a `with` block, such as that of `jax.log_compiles(False)`, every call
takes the plain path, and can be stepped through.
Builds on compile and the files that jit.py builds on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tinyjax.api_util import split_static
from tinyjax.array import ArrayImpl
from tinyjax.config import config
from tinyjax.core import EvalTrace, Tracer, as_array, context
from tinyjax.tree_util.pytrees import LEAF, PyTreeDef, kind_of, tree_flatten

if TYPE_CHECKING:
    from tinyjax.opencl.compile import Executable

NOT_KNOWN: Any = object()  # the answer of `call` where the plain path is to be taken


def is_plain() -> bool:
    """Whether nothing around a call changes what it does: no trace, no named axis, no `with` block of the
    configuration; nor are results looked at, which only the plain path does."""
    return (
        type(context.trace) is EvalTrace
        and not context.axis_env
        and not vars(config)
        and not (config.jax_debug_nans or config.jax_debug_infs)
    )


class _Known(NamedTuple):
    """What a call led to; for as long as the configuration has these `settings`, it will again."""

    settings: object
    program: Executable
    out_tree: PyTreeDef
    commits: bool  # whether the results are put on the program's device, as the arguments were


class FastCalls:
    """What is known of a jitted function's calls. Functions may share `known` that differ in nothing but
    their `device`."""

    def __init__(self, known: dict, device: Any, static_argnums: Any, static_argnames: Any):
        self.known = known
        self.device = device
        self.static_argnums = static_argnums
        self.static_argnames = static_argnames
        self.has_static = bool(static_argnums or static_argnames)

    def call(self, args: tuple, kwargs: dict) -> Any:
        """The result of the call, or NOT_KNOWN."""
        # As is_plain; where results are looked at, the settings are not those of what is known.
        if type(context.trace) is not EvalTrace or context.axis_env or vars(config):
            return NOT_KNOWN
        try:
            key, arrays = self._key(args, kwargs)
            known = self.known.get(key)
        except TypeError:  # no array, or no hash of a static argument: the plain path says which
            return NOT_KNOWN
        if known is None or known.settings is not config.settings:
            return NOT_KNOWN
        outs = known.program(arrays)
        if known.commits:
            for out in outs:
                out.committed = True
        return outs[0] if known.out_tree is LEAF else known.out_tree.unflatten(outs)

    def remember(
        self, args: tuple, kwargs: dict, program: Executable, out_tree: PyTreeDef, commits: bool
    ) -> None:
        """Notes what a call led to, in which nothing was traced."""
        key, _ = self._key(args, kwargs)
        self.known[key] = _Known(config.settings, program, out_tree, commits)

    def _key(self, args: tuple, kwargs: dict) -> tuple[Any, list[ArrayImpl]]:
        """All that the call depends on, and its arrays; None if one is a tracer, which has leaked."""
        key: list[Any] = [self.device]
        leaves: Any = args
        if kwargs or self.has_static:
            dynamic, static = split_static(args, kwargs, self.static_argnums, self.static_argnames)
            leaves, tree = tree_flatten(dynamic)
            key += static, tree
        elif any(map(kind_of.__getitem__, map(type, args))):  # a container
            leaves, tree = tree_flatten(args)
            key.append(tree)
        arrays = []
        for x in leaves:
            if type(x) is not ArrayImpl:
                if isinstance(x, Tracer):
                    return None, []
                x = as_array(x)
            arrays.append(x)
            key.append(x.aval)
            if x.committed:
                key.append(x.device)
        return tuple(key), arrays
