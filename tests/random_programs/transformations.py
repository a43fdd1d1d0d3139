"""Transformations within programs, and functions with rules of their own."""

from __future__ import annotations

from random_programs.bodies import body_of, fresh, next_carry, output_of, some
from random_programs.control import elements_for
from random_programs.program import Function, Variable
from random_programs.writer import KINDS, Writer


def _vmap(writer: Writer) -> list[Variable]:
    length, arrays = elements_for(writer, 1, 2)
    if not length or not arrays:
        return []
    elements = [fresh(writer, "x", v, v.shape[1:]) for v in arrays]
    body = body_of(writer, list(map(str, elements)), elements, output_of)
    axes = writer.rng.choice(["", "", "", ", out_axes=-1"])
    return writer.add(f"jax.vmap({body.name}{axes})({', '.join(map(str, arrays))})", [body])


def _call(writer: Writer) -> list[Variable]:
    """jit and checkpoint, within the program."""
    operands = some(writer, 1, 2)
    if not operands:
        return []
    params = [fresh(writer, "x", v) for v in operands]
    body = body_of(writer, list(map(str, params)), params, output_of)
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
    param = fresh(writer, "x", operand)
    body = body_of(writer, [str(param)], [param], _to_scalar, jvp=True, reverse=True)
    if writer.rng.random() < 0.3:
        return writer.add(f"jax.value_and_grad({body.name})({operand})", [body], count=2)
    return writer.add(f"jax.grad({body.name})({operand})", [body])


def _derivative(writer: Writer) -> list[Variable]:
    """jvp, vjp, linearize and Jacobians."""
    operand = writer.pick("f")
    if operand is None:
        return []
    param = fresh(writer, "x", operand)
    reverse = writer.reverse or writer.rng.random() < 0.5
    body = body_of(
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
    param = fresh(writer, "x", operand)
    closed, writer.scope = writer.scope, []
    body = body_of(writer, [str(param)], [param], lambda inner: next_carry(inner, param))
    writer.scope = closed
    return body


#: What writes a transformation, and how often.
WRITERS = [
    (_vmap, 4),
    (_call, 2),
    (_grad, 4),
    (_derivative, 3),
    (_custom_jvp, 1),
    (_custom_vjp, 1),
]
