"""How a result is written into the data files, and how a result is compared with what was written.

An array is written as [type, values]: the type as 'float32[2,3]', with '~' before it when it is
weakly typed, and the values flat in row-major order, shortest text that reads back exactly
(JSON's NaN and Infinity as Python writes them; complex numbers as real, imaginary, real, ...).
Random keys are ['key<fry>[2]', their words]. Tuples, lists and dicts keep their structure, and
everything else (a Python number, a string, a dtype) is written as {"repr": ...}.
"""

import json
import math
import re
from typing import NamedTuple

import numpy as np


class Group(NamedTuple):
    """Calls that are compared in one way.

    calls: Python expressions over the names of `inputs.names`; the expression is the case's name.
    ulps: how far a float may be off, in units in the last place of the expected number (0: equal).
    scaled: True measures units of the largest number of the array instead, for sums and products
        in which numbers cancel (and then 0.0 and -0.0 are the same).
    config: what to set by jax.config.update during the call.
    """

    name: str
    calls: list[str]
    ulps: int = 4
    scaled: bool = False
    config: dict[str, bool] = {}


# ---- writing ----


def encode(x, jax):
    if isinstance(x, jax.Array):
        if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
            words = np.asarray(jax.random.key_data(x))
            return [f"{x.dtype}{_shape(x)}", words.ravel().tolist()]
        return [("~" if x.weak_type else "") + f"{x.dtype}{_shape(x)}", _flat(x)]
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype == jax.dtypes.float0:
        return [f"numpy float0{_shape(x)}", []]
    if isinstance(x, (np.ndarray, np.generic)):
        return [f"numpy {x.dtype}{_shape(x)}", _flat(x)]
    if isinstance(x, (tuple, list)):
        return {type(x).__name__: [encode(e, jax) for e in x]}
    if isinstance(x, dict):
        return {"dict": {str(k): encode(v, jax) for k, v in x.items()}}
    return {"repr": x if isinstance(x, str) else repr(x)}


def _shape(x):
    return f"[{','.join(map(str, x.shape))}]"


def _flat(x):
    x = np.asarray(x)
    if not hasattr(np, x.dtype.name):  # bfloat16, float8_e5m2, int4: every number is a float32 too
        x = x.astype(np.int32 if "int" in x.dtype.name else np.float32)
    if x.dtype.kind == "c":
        x = np.ascontiguousarray(x).reshape(-1).view(x.real.dtype)
    if x.dtype.kind == "f":
        return [_shortest(e) for e in x.ravel()]
    return x.ravel().tolist()


def _shortest(x):
    """The float whose shortest text also reads back as x in x's own precision."""
    return float(str(x)) if np.isfinite(x) else float(x)


def dump(groups):
    """{group: {call: encoded}} as JSON with a call a line, so that a change can be read."""
    lines = []
    for name, calls in groups.items():
        body = ",\n".join(
            f"  {json.dumps(call)}: {json.dumps(value)}" for call, value in calls.items()
        )
        lines.append(f" {json.dumps(name)}: {{\n{body}\n }}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


# ---- reading ----


def types(x):
    """An encoded result without its numbers."""
    if isinstance(x, list):
        return x[0]
    kind, inner = next(iter(x.items()))
    if kind == "repr":
        return x
    return {kind: {k: types(e) for k, e in _elements(inner)}}


def arrays(x):
    """The arrays of an encoded result, one after the other."""
    if isinstance(x, dict):
        kind, inner = next(iter(x.items()))
        return [] if kind == "repr" else [a for _, e in _elements(inner) for a in arrays(e)]
    dtype, shape = re.fullmatch(r"(?:~|numpy )?(\w+)\[(.*)\]", x[0]).groups()
    values = np.array(x[1], _REAL.get(dtype, dtype)).view(dtype)
    return [values.reshape([int(size) for size in shape.split(",") if size])]


def _elements(container):
    return container.items() if isinstance(container, dict) else enumerate(container)


# ---- comparing ----


def difference(got, want, ulps, scaled):
    """What is different between two encoded results as text, or None if nothing is."""
    if isinstance(want, dict):
        return _structure_difference(got, want, ulps, scaled)
    if not isinstance(got, list) or got[0] != want[0]:
        return f"expected the type {want[0]}, got {got[0] if isinstance(got, list) else got}"
    got_values, want_values = got[1], want[1]
    if len(got_values) != len(want_values):
        return f"expected {len(want_values)} values, got {len(got_values)}"
    bound = _spacings(want_values, want[0], scaled)
    for i, (a, b, unit) in enumerate(zip(got_values, want_values, bound, strict=True)):
        if not _close(a, b, ulps * unit, signed_zero=not scaled):
            return f"value {i}: expected {b}, got {a} (allowed: {ulps * unit:.3g})"
    return None


def _structure_difference(got, want, ulps, scaled):
    kind, inner = next(iter(want.items()))
    if not isinstance(got, dict) or list(got) != [kind]:
        return f"expected a {kind}, got {got}"
    if kind == "repr":
        return None if got == want else f"expected {inner}\n     got {got[kind]}"
    if kind == "dict":
        if list(got[kind]) != list(inner):
            return f"expected the keys {list(inner)}, got {list(got[kind])}"
        pairs = [(k, got[kind][k], inner[k]) for k in inner]
    else:
        if len(got[kind]) != len(inner):
            return f"expected {len(inner)} elements, got {len(got[kind])}"
        pairs = [(i, a, b) for i, (a, b) in enumerate(zip(got[kind], inner, strict=True))]
    for where, a, b in pairs:
        if found := difference(a, b, ulps, scaled):
            return f"in element {where}: {found}"
    return None


_REAL = {"complex64": "float32", "complex128": "float64"}  # complex numbers are written as these
_EPSILON_AND_TINY = {
    "bfloat16": (2.0**-7, 2.0**-126),
    "float16": (2.0**-10, 2.0**-14),
    "float32": (2.0**-23, 2.0**-126),
    "complex64": (2.0**-23, 2.0**-126),
    "float64": (2.0**-52, 2.0**-1022),
    "complex128": (2.0**-52, 2.0**-1022),
}


def _spacings(values, type_text, scaled):
    """The size of one unit in the last place for each expected value (0 for exact types)."""
    dtype = type_text.removeprefix("~").removeprefix("numpy ").split("[")[0]
    if dtype not in _EPSILON_AND_TINY:
        return [0.0] * len(values)
    epsilon, tiny = _EPSILON_AND_TINY[dtype]
    sizes = [max(abs(v), tiny) if math.isfinite(v) else tiny for v in values]
    if scaled:
        sizes = [max(sizes, default=tiny)] * len(values)
    return [epsilon * 2.0 ** math.floor(math.log2(size)) for size in sizes]


def _close(got, want, allowed, signed_zero):
    if math.isnan(want) or math.isnan(got):
        return math.isnan(want) and math.isnan(got)
    if got == want:
        return not signed_zero or math.copysign(1, got) == math.copysign(1, want)
    return math.isfinite(got) and math.isfinite(want) and abs(got - want) <= allowed
