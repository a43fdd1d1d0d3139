"""`jax_debug_key_reuse`: a random key that is used twice raises KeyReuseError.

A key is used by the operations that make random bits or other keys from it (`keys` of core/facts.py). Part of
an array of keys, such as `keys[0]`, shares the uses of the array: the same part, or the whole, can't be used
again. A watcher (core.bind) follows eager operations. The keys that a jitted function, a loop, a branch or a
checkpoint uses are read from its jaxpr at each call. A loop must not use in its second round a key that its
first has used.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from tinyjax.core import dtypes
from tinyjax.core.array import ArrayImpl
from tinyjax.core.bind import Primitive, context, watch
from tinyjax.core.config import config, when_set
from tinyjax.core.errors import JAXTypeError
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, subjaxprs
from tinyjax.core.tracing import line_text, user_line


class KeyReuseError(JAXTypeError):
    """A random key was used twice while jax_debug_key_reuse is set."""


KeyReuseError.__module__ = "tinyjax.errors"  # where users import it, as tracebacks say

Slices = tuple[Hashable, ...]  # the successive slices


class Keys(NamedTuple):
    """An array of keys, or part of one. `uses` has the array's used parts, and the line of each use."""

    uses: dict[Slices, str]
    part: Slices = ()

    def use(self, line: str, part: Slices = ()) -> None:
        """Raises KeyReuseError if some of these keys, or of a further part, were used before."""
        used = self.part + part
        for other, before in self.uses.items():
            shared = min(len(other), len(used))
            if other[:shared] == used[:shared]:
                raise KeyReuseError(
                    f"a random key is used at {line}, but was already used at {before}: both uses give the "
                    "same random bits. Split the key first, `key, subkey = jax.random.split(key)`, or use "
                    "jax.random.clone(key) where the same bits are intended"
                )
        self.uses[used] = line


def follow(
    primitive: Primitive,
    params: dict[str, Any],
    operands: Sequence[Keys],
    index: Hashable,
    line: str,
    called_at: str | None = None,
) -> list[Keys] | None:
    """Marks an operation's keys as used. Returns the keys of its results, None for new keys.

    `index` has the operands that choose a slice. If `called_at` is given, all uses within a call are
    at this line: a jaxpr that an earlier call has traced has the lines of that call."""
    name, keys = primitive.name, primitive.facts.keys
    if keys == "used":
        operands[0].use(line)
    if keys == "same":
        return [operands[0]]
    if keys == "part":
        part = (name, str(params), index)
        return [Keys(operands[0].uses, (*operands[0].part, part))]
    if name == "cond":
        return _follow_branches(params["branches"], operands[1:])
    if name == "scan":
        return _follow_scan(operands, **params)
    if name == "while":
        return _follow_while(operands, **params)
    if params.get("differentiated"):  # a checkpoint's second run must give the same bits
        return None
    called = list(subjaxprs(params))
    if len(called) == 1 and len(called[0].invars) == len(operands):
        return _follow_jaxpr(called[0], operands, called_at)
    return None


def _follow_jaxpr(
    jaxpr: Jaxpr, operands: Sequence[Keys], called_at: str | None = None
) -> list[Keys]:
    env = {v: Keys({}) for v in jaxpr.constvars} | dict(zip(jaxpr.invars, operands))
    for eqn in jaxpr.eqns:
        if any(map(_is_key, [*eqn.invars, *eqn.outvars])):
            env.update(zip(eqn.outvars, _follow_eqn(eqn, env, called_at)))
    return [Keys({}) if isinstance(v, Literal) else env.get(v, Keys({})) for v in jaxpr.outvars]


def _follow_eqn(eqn: JaxprEqn, env: dict[Any, Keys], called_at: str | None) -> list[Keys]:
    operands = [Keys({}) if isinstance(v, Literal) else env.get(v, Keys({})) for v in eqn.invars]
    index = tuple(v.key if isinstance(v, Literal) else v for v in eqn.invars[1:])
    line = called_at or line_text(eqn.source_info) or eqn.primitive.name
    found = follow(eqn.primitive, eqn.params, operands, index, line, called_at=line)
    return found or [Keys({}) for _ in eqn.outvars]


def _follow_branches(branches: Sequence[ClosedJaxpr], operands: Sequence[Keys]) -> list[Keys]:
    """Each branch may use the same keys, as one of them runs."""
    used = [dict(keys.uses) for keys in operands]
    for branch in branches:
        copies = [Keys(dict(keys.uses), keys.part) for keys in operands]
        outs = _follow_jaxpr(branch.jaxpr, copies)
        for uses, copy in zip(used, copies):
            uses.update(copy.uses)
    for keys, uses in zip(operands, used):
        keys.uses.update(uses)
    return [Keys({}) for _ in outs]


def _follow_scan(
    operands: Sequence[Keys],
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    length: int,
    **_: Any,
) -> list[Keys]:
    consts, xs = operands[:num_consts], operands[num_consts + num_carry :]
    carry = list(operands[num_consts : num_consts + num_carry])
    for step in range(min(length, 2)):
        row = [Keys({}) for _ in xs] if step else xs
        carry = _follow_jaxpr(jaxpr.jaxpr, [*consts, *carry, *row])[:num_carry]
    return carry + [Keys({}) for _ in jaxpr.jaxpr.outvars[num_carry:]]


def _follow_while(
    operands: Sequence[Keys],
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
    **_: Any,
) -> list[Keys]:
    first = cond_nconsts + body_nconsts
    carry = list(operands[first:])
    for _step in range(2):
        _follow_jaxpr(cond_jaxpr.jaxpr, [*operands[:cond_nconsts], *carry])
        carry = _follow_jaxpr(body_jaxpr.jaxpr, [*operands[cond_nconsts:first], *carry])
    return carry


def _is_key(x: Any) -> bool:
    return getattr(x.aval, "dtype", None) == dtypes.key_dtype


# ---- values ----


def follow_call(
    primitive: Primitive | None, params: dict, operands: Sequence[Any], results: Sequence[ArrayImpl]
) -> None:
    """Follows the keys of an operation that has run. Raises KeyReuseError."""
    if primitive is None or not config.jax_debug_key_reuse:
        return
    if context.source_info is not None:  # within a jaxpr, which follow_call follows as a whole
        return
    if not any(isinstance(x, ArrayImpl) and _is_key(x) for x in [*operands, *results]):
        return
    index = tuple(str(x) for x in operands[1:]) if primitive.facts.keys == "part" else ()
    line = line_text(user_line()) or primitive.name
    found = follow(primitive, params, list(map(_keys_of, operands)), index, line)
    for result, keys in zip(results, found or ()):
        vars(result)["keys"] = keys


def _keys_of(x: Any) -> Keys:
    return vars(x).setdefault("keys", Keys({})) if isinstance(x, ArrayImpl) else Keys({})


when_set("jax_debug_key_reuse", lambda value: watch(follow_call))
