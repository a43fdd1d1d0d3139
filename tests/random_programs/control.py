"""Loops and branches."""

from __future__ import annotations

from random_programs.bodies import body_of, fresh, next_carry, output_of, packed, some
from random_programs.program import Function, Variable
from random_programs.writer import KINDS, Writer

#: Rounds of a loop, those of the loops around it multiplied.
MAX_TRIPS = 60


def _length(writer: Writer) -> int | None:
    allowed = [n for n in (*writer.limits.sizes, 0, 1, 2, 3, 4) if n * writer.trips <= MAX_TRIPS]
    return writer.rng.choice(allowed) if allowed else None


def elements_for(writer: Writer, least: int, most: int) -> tuple[int | None, list[Variable]]:
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
    length, arrays = elements_for(writer, 0, 2)
    if length is None:
        return []
    start = some(writer, 0 if arrays else 1, 3)
    carry = [fresh(writer, "c", v) for v in start]
    elements = [fresh(writer, "x", v, v.shape[1:]) for v in arrays]
    counts = [0]

    def result(inner: Writer) -> str:
        counts[0] = inner.rng.choice([0, 1, 1, 2])
        ys = [output_of(inner) for _ in range(counts[0])]
        return (
            f"{packed([next_carry(inner, c) for c in carry] or ['()'])}, {packed(ys or ['None'])}"
        )

    params = [packed(carry) if carry else "c0", packed(elements) if elements else "x0"]
    body = body_of(writer, params, [*carry, *elements], result, trips=length)
    xs = packed(arrays) if arrays else "None"
    call = f"lax.scan({body.name}, {packed(start) if start else '()'}, {xs}"
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
    length, arrays = elements_for(writer, 1, 2)
    if length is None or not arrays:
        return []
    elements = [fresh(writer, "x", v, v.shape[1:]) for v in arrays]
    body = body_of(writer, [packed(elements)], elements, output_of, trips=length)
    size = ", batch_size=2)" if writer.rng.random() < 0.15 else ")"
    return writer.add(f"lax.map({body.name}, {packed(arrays)}{size}", [body])


def _while(writer: Writer) -> list[Variable]:
    rounds = _length(writer)
    start = some(writer, 1, 3)
    if rounds is None or not start or writer.reverse:
        return []
    carry = [fresh(writer, "c", v) for v in start]
    count = Variable(writer.new_name("n"), (), "int32")
    state = packed([count, *carry])
    more = writer.rng.choice(
        [""] * 3
        + [f" & (jnp.sum({c}) % 7 != 3)" for c in carry if c.dtype in KINDS["i"]]
        + [f" & ~jnp.all({c})" for c in carry if c.dtype == "bool"]
    )
    test = Function(writer.new_name("f"), [state], [], f"({count} < {rounds}){more}")
    body = body_of(
        writer, [state], [count, *carry],
        lambda inner: packed([f"{count} + 1", *(next_carry(inner, c) for c in carry)]), trips=rounds,
    )  # fmt: skip
    text = f"lax.while_loop({test.name}, {body.name}, {packed(['0', *start])})[1:]"
    one = "[0]" if len(start) == 1 else ""
    return writer.add(text + one, [test, body], count=len(start))


def _fori(writer: Writer) -> list[Variable]:
    rounds = _length(writer)
    start = some(writer, 1, 2)
    if rounds is None or not start:
        return []
    carry = [fresh(writer, "c", v) for v in start]
    count = Variable(writer.new_name("n"), (), "int32")
    bound = writer.find(lambda v: v.shape == () and v.dtype == "int32")
    end = str(rounds)
    # With 64 bits, an eager loop counts in int64 up to an int32, and a jitted one in int32.
    may_be_bound = bound and not writer.reverse and not writer.limits.x64
    if may_be_bound and rounds and writer.rng.random() < 0.4:
        end = f"{bound} % {rounds + 1}"
    body = body_of(
        writer, [str(count), packed(carry)], [count, *carry],
        lambda inner: packed([next_carry(inner, c) for c in carry]), trips=rounds,
    )  # fmt: skip
    text = f"lax.fori_loop(0, {end}, {body.name}, {packed(start)})"
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
    operands = some(writer, 1, 2)
    results = some(writer, 1, 2) or operands
    functions = []
    for _ in range(count):
        params = [fresh(writer, "x", v) for v in operands]
        functions.append(
            body_of(
                writer,
                list(map(str, params)),
                params,
                lambda inner: packed([next_carry(inner, v) for v in results]),
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


#: What writes a loop or a branch, and how often.
WRITERS = [
    (_scan, 8),
    (_map, 5),
    (_while, 4),
    (_fori, 5),
    (_cond, 4),
    (_switch, 2),
]
