"""Which function a jaxpr is traced from, and the arguments that a tracer depends on: for errors and pictures.

A transformation makes a `DebugInfo` where tracing begins. It costs a tuple: names and places are looked up
when an error needs them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from types import CodeType
from typing import Any, NamedTuple

from tinyjax.core.api_util import UNNAMED, argument_names, fun_name, positional_number
from tinyjax.core.bind import Tracer
from tinyjax.core.errors import Origin, made_at
from tinyjax.core.tree_util.key_paths import KeyPath, keystr, tree_flatten_with_path
from tinyjax.core.tree_util.pytrees import tree_unflatten


def unwrapped(fun: Any) -> Any:
    """The function that partials and wrappers call; the first again, if they call each other."""
    seen: set[int] = set()
    while isinstance(fun, functools.partial) or callable(getattr(fun, "__wrapped__", None)):
        if id(fun) in seen:
            break
        seen.add(id(fun))
        fun = fun.func if isinstance(fun, functools.partial) else fun.__wrapped__
    return fun


def code_of(fun: Callable) -> CodeType | None:
    """The code of what `fun` calls, a function or a `__call__`; None if it is not Python's."""
    inner = unwrapped(fun)
    return getattr(inner, "__code__", getattr(type(inner).__call__, "__code__", None))


def name_of(fun: Callable) -> str:
    """The function's name in messages; a callable object has that of its class."""
    name = fun_name(fun)
    return type(unwrapped(fun)).__name__ if name == UNNAMED else name


def name_and_place(fun: Callable) -> str:
    """The function's name and place: "f at train.py:3"."""
    code = code_of(fun)
    return name_of(fun) + (f" at {code.co_filename}:{code.co_firstlineno}" if code else "")


class DebugInfo(NamedTuple):
    """The function that a jaxpr is traced from, its static positions, and the trees of its (args, kwargs) and
    of its result, once that is known.

    For errors about tracers: `traced_for` is the transformation, such as "jax.jit". `roles` says what the
    positional arguments are, such as the carry. `static_option` is the option by which arguments can be made
    static, and `types` has the type of each leaf at the call."""

    fun: Callable
    static: Collection[int]
    in_tree: Any
    out_tree: Any = None
    traced_for: str = ""
    roles: tuple[str, ...] = ()
    static_option: str = ""
    types: tuple[type, ...] = ()

    @property
    def arg_names(self) -> list[str]:
        """The name of each input, such as params['w'] or x."""
        return argument_names(self.fun, self.static, self.in_tree)

    @property
    def result_paths(self) -> list[str]:
        """Where each output is in the result, such as result['loss']."""
        leaves = tree_unflatten(self.out_tree, range(self.out_tree.num_leaves))
        return [f"result{keystr(path)}" for path, _ in tree_flatten_with_path(leaves)[0]]

    @property
    def is_helper(self) -> bool:
        """Whether tinyjax made the function, such as the body of a loop around the user's."""
        module, code = getattr(self.fun, "__module__", None) or "", code_of(self.fun)
        return code is None or module.startswith("tinyjax.") and "<locals>" in code.co_qualname

    @property
    def function(self) -> str:
        """The function's name and place: "f at train.py:3"."""
        return "a function of tinyjax" if self.is_helper else name_and_place(self.fun)

    def arguments(self, leaves: Sequence[int]) -> str:
        """The arguments of these leaves: "the arguments x and params['w'] (of the carry)"."""
        names, paths = self.arg_names, self._paths()
        shown = []
        for leaf in leaves:
            kind, position = paths[leaf][:2]
            has_role = kind.idx == 0 and position.idx < len(self.roles)
            shown.append(names[leaf] + (f" ({self.roles[position.idx]})" if has_role else ""))
        return f"the argument{'s' * (len(shown) > 1)} {' and '.join(shown)}"

    def static_advice(self, leaves: Sequence[int]) -> str:
        """How to make the arguments static that these leaves are; "" if they are only parts of them."""
        names, paths = self.arg_names, self._paths()
        if not self.static_option or any(len(paths[leaf]) > 2 for leaf in leaves):
            return ""
        shown, option = [names[leaf] for leaf in leaves], self.static_option
        wanted: Any = shown
        if option == "static_argnums" or not all(map(str.isidentifier, shown)):
            option = "static_argnums"
            if any(paths[leaf][0].idx == 1 for leaf in leaves):  # given by name
                return ""
            wanted = [positional_number(self.static, paths[leaf][1].idx) for leaf in leaves]
        values = repr(wanted[0] if len(wanted) == 1 else tuple(wanted))
        are, them = "is a Python number", "it"
        if len(shown) > 1:
            are, them = "are Python numbers", "them"
        return (
            f"Or, if {' and '.join(shown)} {are}, make {them} static: {self.traced_for}(..., "
            f"{option}={values})."
        )

    def _paths(self) -> list[KeyPath]:
        leaves = tree_unflatten(self.in_tree, range(self.in_tree.num_leaves))
        return [path for path, _ in tree_flatten_with_path(leaves)[0]]


def origin_of(tracer: Any) -> Origin:
    """The arguments that a JaxprTracer depends on, by the equations of its trace."""
    trace, info = tracer._trace, tracer._trace.debug_info
    needed = {tracer.atom}
    for eqn in reversed(trace.eqns):
        if not needed.isdisjoint(eqn.outvars):
            needed.update(eqn.invars)
    arguments = [i for i, var in enumerate(trace.invars) if var in needed]
    outer = [x for var, x in trace.consts.values() if var in needed and isinstance(x, Tracer)]
    if not arguments and outer:
        return outer[0].origin()
    if info is None or info.is_helper:
        return Origin("traced", made_at(tracer))
    if not arguments:
        written = "it records operations to run later, but NumPy computes at once"
        return Origin("traced", f"{info.traced_for} traces {info.function}: {written}.")
    why = (
        f"It depends on {info.arguments(arguments)} of {info.function}. {info.traced_for} traces "
        f"{name_of(info.fun)} once, for all values of one shape and dtype."
    )
    are_numbers = info.static_option != "" and all(
        not trace.invars[i].aval.shape and not issubclass(info.types[i], Tracer) for i in arguments
    )
    return Origin("traced", why, info.static_advice(arguments) if are_numbers else "")
