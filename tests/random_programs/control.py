"""Control flow, transformations and functions with rules of their own: statements that have bodies.

A body sees all variables outside of it, outer carries included, and its results may be such.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from random_programs.operations import write_operation
from random_programs.program import Function, Variable
from random_programs.writer import KINDS, Writer, converted, kind_of

MAX_DEPTH = 3
MAX_TRIPS = 60


def write_statement(writer: Writer) -> list[Variable]:
    """Appends a statement with a body, or one operation."""
    writer.limits.budget -= 1
    deep = writer.depth >= MAX_DEPTH or writer.limits.budget < 2
    if not deep and writer.rng.random() < (0.45 if writer.depth else 0.5):
        kinds, weights = zip(*CONTROL)
        return writer.rng.choices(kinds, weights)[0](writer)
    return write_operation(writer)


def write_statements(writer: Writer, least: int, most: int) -> None:
    for _ in range(writer.rng.randint(least, most)):
        write_statement(writer)


def _body(
    writer: Writer,
    params: Sequence[str],
    variables: Sequence[Variable],
    result: Callable[[Writer], str],
    trips: int = 1,
    **flags: bool,
) -> Function:
    """A function of `params`, whose names are `variables`."""
    inner = writer.inner(variables)
    inner.trips *= max(trips, 1)
    for name, value in flags.items():
        setattr(inner, name, value)
    write_statements(inner, 0 if writer.rng.random() < 0.1 else 1, 3)
    text = result(inner)
    return Function(writer.new_name("f"), list(params), inner.statements, text)


def _fresh(
    writer: Writer, letter: str, like: Variable, shape: tuple[int, ...] | None = None
) -> Variable:
    shape = like.shape if shape is None else shape
    return Variable(writer.new_name(letter), shape, like.dtype, like.weak)


def _packed(names: Sequence[object]) -> str:
    names = list(map(str, names))
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def _some(writer: Writer, least: int, most: int, kinds: str = "fffixpzk") -> list[Variable]:
    found = [writer.pick(writer.rng.choice(kinds)) for _ in range(writer.rng.randint(least, most))]
    return list(dict.fromkeys(v for v in found if v))


def _next(inner: Writer, carry: Variable) -> str:
    """What a carry becomes: of its type, and bounded."""
    text = inner.fitted(carry)
    if kind_of(carry.dtype) == "f" and text != carry.name:
        forms = [
            "jnp.tanh({})",
            "jnp.sin({} + {c})",
            "({} + {c}) / 2",
            "{}",
            "{c} * 0.5 + 0.1 * {}",
        ]
        text = inner.rng.choice(forms).format(text, c=carry.name)
    if kind_of(carry.dtype) == "i" and inner.rng.random() < 0.4:
        text = f"{text} + {carry.name}"
    return text


def _output(inner: Writer) -> str:
    """A result of a body: something new, or something of outside, perhaps an outer carry's sum."""
    if inner.outer and inner.rng.random() < 0.25:
        found = inner.outer.pick(inner.rng.choice("fni"))
        other = inner.pick("f", found.shape) if found else None
        if found and found.shape and found.dtype != "bool":
            product = f"{found} * {other}" if other and inner.rng.random() < 0.6 else found
            return inner.rng.choice([f"jnp.sum({product}, 0)", f"jnp.sum({product})", f"{product}"])
    if (own := inner.own()) and inner.rng.random() < 0.7:
        return str(inner.rng.choice(own))
    found = inner.pick(inner.rng.choice("fffix")) or inner.pick()
    return str(found) if found else "jnp.float32(1)"


def _length(writer: Writer) -> int | None:
    allowed = [n for n in (*writer.limits.sizes, 0, 1, 2, 3, 4) if n * writer.trips <= MAX_TRIPS]
    return writer.rng.choice(allowed) if allowed else None


def _elements(writer: Writer, least: int, most: int) -> tuple[int | None, list[Variable]]:
    """The length of a loop over arrays, and the arrays, all of that length."""
    found = writer.find(
        lambda v: (
            bool(v.shape)
            and v.shape[0] * writer.trips <= MAX_TRIPS
            and v.dtype in KINDS["x"] | KINDS["k"]
        )
    )
    length = found.shape[0] if found else _length(writer)
    if length is None:
        return None, []
    arrays = [found] if found and (least or writer.rng.random() < 0.8) else []
    for _ in range(writer.rng.randint(0, most - 1)):
        more = writer.find(lambda v: v.shape[:1] == (length,))
        arrays += [more] if more else []
    if least and not arrays:
        arrays = writer.add(f"jnp.arange({length}.0)")
    return length, list(dict.fromkeys(arrays))


# ---- loops ----


def _scan(writer: Writer) -> list[Variable]:
    length, arrays = _elements(writer, 0, 2)
    if length is None:
        return []
    start = _some(writer, 0 if arrays else 1, 3)
    carry = [_fresh(writer, "c", v) for v in start]
    elements = [_fresh(writer, "x", v, v.shape[1:]) for v in arrays]
    counts = [0]

    def result(inner: Writer) -> str:
        counts[0] = inner.rng.choice([0, 1, 1, 2])
        ys = [_output(inner) for _ in range(counts[0])]
        return f"{_packed([_next(inner, c) for c in carry] or ['()'])}, {_packed(ys or ['None'])}"

    params = [_packed(carry) if carry else "c0", _packed(elements) if elements else "x0"]
    body = _body(writer, params, [*carry, *elements], result, trips=length)
    xs = _packed(arrays) if arrays else "None"
    call = f"lax.scan({body.name}, {_packed(start) if start else '()'}, {xs}"
    options = "" if arrays else f", length={length}"
    more = writer.rng.choice([", reverse=True", "", "", ", unroll=2", ", unroll=True"])
    return _spread(writer, call + options, more + ")", [body], len(start), counts[0])


def _spread(
    writer: Writer, call: str, end: str, functions: list[Function], first: int, second: int
) -> list[Variable]:
    """Adds a call that gives a pair of packed results, and takes them apart by jax.tree.leaves."""
    text = f"jax.tree.leaves({call}{{}})"
    if first + second == 0:
        return []
    one = "[0]" if first + second == 1 else ""
    simpler = [text.format(")") + one] if end != ")" else []
    return writer.add(text.format(end) + one, functions, simpler=simpler, count=first + second)


def _map(writer: Writer) -> list[Variable]:
    length, arrays = _elements(writer, 1, 2)
    if length is None or not arrays:
        return []
    elements = [_fresh(writer, "x", v, v.shape[1:]) for v in arrays]
    body = _body(writer, [_packed(elements)], elements, _output, trips=length)
    size = ", batch_size=2)" if writer.rng.random() < 0.15 else ")"
    return writer.add(f"lax.map({body.name}, {_packed(arrays)}{size}", [body])


def _vmap(writer: Writer) -> list[Variable]:
    length, arrays = _elements(writer, 1, 2)
    if not length or not arrays:
        return []
    elements = [_fresh(writer, "x", v, v.shape[1:]) for v in arrays]
    body = _body(writer, list(map(str, elements)), elements, _output)
    axes = writer.rng.choice(["", "", "", ", out_axes=-1"])
    return writer.add(f"jax.vmap({body.name}{axes})({', '.join(map(str, arrays))})", [body])


def _while(writer: Writer) -> list[Variable]:
    rounds = _length(writer)
    start = _some(writer, 1, 3)
    if rounds is None or not start or writer.reverse:
        return []
    carry = [_fresh(writer, "c", v) for v in start]
    count = Variable(writer.new_name("n"), (), "int32")
    state = _packed([count, *carry])
    more = writer.rng.choice(
        [""] * 3
        + [f" & (jnp.sum({c}) % 7 != 3)" for c in carry if c.dtype in KINDS["i"]]
        + [f" & ~jnp.all({c})" for c in carry if c.dtype == "bool"]
    )
    test = Function(writer.new_name("f"), [state], [], f"({count} < {rounds}){more}")
    body = _body(
        writer, [state], [count, *carry],
        lambda inner: _packed([f"{count} + 1", *(_next(inner, c) for c in carry)]), trips=rounds,
    )  # fmt: skip
    text = f"lax.while_loop({test.name}, {body.name}, {_packed(['0', *start])})[1:]"
    one = "[0]" if len(start) == 1 else ""
    return writer.add(text + one, [test, body], count=len(start))


def _fori(writer: Writer) -> list[Variable]:
    rounds = _length(writer)
    start = _some(writer, 1, 2)
    if rounds is None or not start:
        return []
    carry = [_fresh(writer, "c", v) for v in start]
    count = Variable(writer.new_name("n"), (), "int32")
    bound = writer.find(lambda v: v.shape == () and v.dtype == "int32")
    end = str(rounds)
    if bound and not writer.reverse and rounds and writer.rng.random() < 0.4:
        end = f"{bound} % {rounds + 1}"
    body = _body(
        writer, [str(count), _packed(carry)], [count, *carry],
        lambda inner: _packed([_next(inner, c) for c in carry]), trips=rounds,
    )  # fmt: skip
    text = f"lax.fori_loop(0, {end}, {body.name}, {_packed(start)})"
    return writer.add(text, [body], count=len(start))


# ---- branches ----


def _predicate(writer: Writer) -> str:
    found = writer.pick("p")
    if found and writer.rng.random() < 0.6:
        return f"jnp.any({found})" if found.shape else str(found)
    found = writer.pick("i")
    if found:
        return f"jnp.sum({found}) % 3 {writer.rng.choice(['== 0', '< 2'])}"
    found = writer.pick("f")
    return f"jnp.sum({found}) > 0.37" if found else "True"


def _branches(writer: Writer, count: int) -> tuple[list[Function], list[Variable]]:
    """Functions of the same arguments, with results of the same types."""
    operands = _some(writer, 1, 2)
    results = _some(writer, 1, 2) or operands
    functions = []
    for _ in range(count):
        params = [_fresh(writer, "x", v) for v in operands]
        functions.append(
            _body(
                writer,
                list(map(str, params)),
                params,
                lambda inner: _packed([_next(inner, v) for v in results]),
            )  # fmt: skip
        )
    return functions, [*operands, *results][: len(operands)] + results


def _cond(writer: Writer) -> list[Variable]:
    functions, variables = _branches(writer, 2)
    if not variables:
        return []
    operands = ", ".join(map(str, variables[: len(functions[0].params)]))
    count = len(variables) - len(functions[0].params)
    then, otherwise = (f.name for f in functions)
    text = f"lax.cond({_predicate(writer)}, {then}, {otherwise}, {operands})"
    simpler = [f"{f}({operands})" for f in (then, otherwise)]
    return writer.add(text, functions, simpler=simpler, count=count)


def _switch(writer: Writer) -> list[Variable]:
    index = writer.pick("i")
    if index is None:
        return []
    functions, variables = _branches(writer, writer.rng.choice([1, 2, 3]))
    if not variables:
        return []
    operands = ", ".join(map(str, variables[: len(functions[0].params)]))
    count = len(variables) - len(functions[0].params)
    names = ", ".join(f.name for f in functions)
    at = f"jnp.sum({index})" if index.shape else str(index)
    text = f"lax.switch({at}, [{names}], {operands})"
    simpler = [f"{f.name}({operands})" for f in functions]
    return writer.add(text, functions, simpler=simpler, count=count)


# ---- calls and derivatives ----


def _call(writer: Writer) -> list[Variable]:
    """jit and checkpoint, within the program."""
    operands = _some(writer, 1, 2)
    if not operands:
        return []
    params = [_fresh(writer, "x", v) for v in operands]
    body = _body(writer, list(map(str, params)), params, _output)
    call = f"{body.name})({', '.join(map(str, operands))})"
    name = writer.rng.choice(["jax.jit(", "jax.checkpoint("])
    return writer.add(name + call, [body], simpler=["(" + call])


def _to_scalar(inner: Writer) -> str:
    own = [v for v in inner.own() if v.dtype in KINDS["f"]]
    return f"jnp.sum({inner.rng.choice(own) if own else inner.pick('f')}) * 0.5"


def _grad(writer: Writer) -> list[Variable]:
    operand = writer.pick("f")
    if operand is None:
        return []
    param = _fresh(writer, "x", operand)
    body = _body(writer, [str(param)], [param], _to_scalar, jvp=True, reverse=True)
    if writer.rng.random() < 0.3:
        return writer.add(f"jax.value_and_grad({body.name})({operand})", [body], count=2)
    return writer.add(f"jax.grad({body.name})({operand})", [body])


def _derivative(writer: Writer) -> list[Variable]:
    """jvp, vjp, linearize and Jacobians."""
    operand = writer.pick("f")
    if operand is None:
        return []
    param = _fresh(writer, "x", operand)
    reverse = writer.reverse or writer.rng.random() < 0.5
    body = _body(
        writer, [str(param)], [param],
        lambda inner: str(inner.pick("f")), jvp=True, reverse=reverse,
    )  # fmt: skip
    forms = [
        "jax.jvp({f}, ({x},), (jnp.cos({x}),))",
        "jax.linearize({f}, {x})[1](jnp.ones_like({x}))",
        "jax.jacfwd({f})({x})",
    ]
    if reverse:
        forms = ["jax.vjp({f}, {x})[1](jnp.ones_like({f}({x})))[0]", "jax.jacrev({f})({x})"]
    text = writer.rng.choice(forms).format(f=body.name, x=operand)
    return writer.add(text, [body], count=2 if "jvp" in text and "vjp" not in text else 1)


def _custom_jvp(writer: Writer) -> list[Variable]:
    operand = writer.pick("f")
    if operand is None:
        return []
    value = _float_body(writer, operand)
    slope = _float_body(writer, operand)
    value.decorator = "@jax.custom_jvp"
    after = [f"{value.name}.defjvp(lambda xs, ts: ({value.name}(*xs), {slope.name}(*xs) * ts[0]))"]
    return writer.add(f"{value.name}({operand})", [value, slope], after=after)


def _custom_vjp(writer: Writer) -> list[Variable]:
    operand = writer.pick("f")
    if operand is None or (writer.jvp and not writer.reverse):
        return []
    value = _float_body(writer, operand)
    slope = _float_body(writer, operand)
    value.decorator = "@jax.custom_vjp"
    after = [
        f"{value.name}.defvjp(lambda x: ({value.name}(x), x), lambda x, g: ({slope.name}(x) * g,))"
    ]
    return writer.add(f"{value.name}({operand})", [value, slope], after=after)


def _float_body(writer: Writer, operand: Variable) -> Function:
    """A function of one float array that gives another of its type, and closes over nothing."""
    param = _fresh(writer, "x", operand)
    closed, writer.scope = writer.scope, []
    body = _body(writer, [str(param)], [param], lambda inner: _next(inner, param))
    writer.scope = closed
    return body


CONTROL: list[tuple[Callable[[Writer], list[Variable]], int]] = [
    (_scan, 8),
    (_map, 5),
    (_while, 4),
    (_fori, 5),
    (_cond, 4),
    (_switch, 2),
    (_vmap, 4),
    (_call, 2),
    (_grad, 4),
    (_derivative, 3),
    (_custom_jvp, 1),
    (_custom_vjp, 1),
]

__all__ = ["converted", "write_statement", "write_statements"]
