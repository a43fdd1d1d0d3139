"""Derivatives in the ways that programs ask for them: of functions of several arguments, of derivatives, of
batches, of what is computed again, and of functions with rules of their own.

Arguments may be integers, Python numbers and trees. Some calls are wrong, to compare errors.

In derivatives.txt {f} is a function, {xs} its arguments, {xt} their tuple, {n} the positions of those that
are differentiated, {m} one of them that is a small array, {all} all positions. The number of
a result's leaves is a sum of D (leaves of the arguments at {n}), P (of all arguments), O (of the function's
results).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from random_programs.bodies import body_of, fresh, next_carry, output_of, packed, some
from random_programs.operations import filled
from random_programs.program import Function, Statement, Variable
from random_programs.writer import KINDS, Writer

INEXACT = KINDS["f"] | KINDS["z"]

#: What programs with derivatives use: tangents of a tree, a number made of one, its leaves.
HELPERS = {
    "tangent0": "lambda tree: jax.tree.map(lambda x: jnp.cos(x)"
    " if jnp.issubdtype(jnp.result_type(x), jnp.inexact)"
    " else np.zeros(jnp.shape(x), jax.dtypes.float0), tree)",
    "total0": "lambda tree: sum(jnp.sum(jnp.sin(x.real)) for x in jax.tree.leaves(tree)"
    " if jnp.issubdtype(jnp.result_type(x), jnp.inexact))",
    "twice0": "lambda tree: jax.tree.map(lambda x: jnp.stack([jnp.asarray(x), x * 2]), tree)",
    "leaves0": "lambda tree: [jnp.zeros(x.shape, bool) if x.dtype == jax.dtypes.float0 else x"
    " for x in jax.tree.leaves(tree)]",
}

POLICIES = """
everything_saveable nothing_saveable dots_saveable checkpoint_dots_with_no_batch_dims
save_only_these_names('a') save_any_names_but_these('a') save_anything_except_these_names('a')
""".split()


def _forms(text: str) -> dict[str, list[tuple[str, ...]]]:
    """By family: what stands between the bars of its lines."""
    families = {}
    for part in text.split("\n## ")[1:]:
        name, *lines = part.split("\n")
        families[name] = [tuple(line.split(" | ")) for line in lines if line]
    return families


FORMS = _forms((Path(__file__).parent / "derivatives.txt").read_text())


# ---- functions of several arguments ----


class Drawn(NamedTuple):
    """A function, and the arguments that it is called with."""

    function: Function
    arguments: list[str]
    leaves: list[list[Variable]]  # of each argument
    outputs: int  # leaves of what it returns


def _drawn(
    writer: Writer, operands: list[Variable], result: Result, reverse: bool, elements: bool = False
) -> Drawn:
    """A function of the operands, of which the last two may be a tuple or a dict."""
    rng = writer.rng
    params = [fresh(writer, "x", v, v.shape[1:] if elements else None) for v in operands]
    texts, arguments, leaves = [*map(str, params)], [*map(str, operands)], [[v] for v in operands]
    unpacked = []
    if len(params) > 1 and rng.random() < 0.35:
        leaves[-2:] = [operands[-2:]]
        if rng.random() < 0.5:
            texts[-2:], arguments[-2:] = [packed(texts[-2:])], [packed(arguments[-2:])]
        else:
            tree = writer.new_name("d")
            unpacked = [Statement([p], f'{tree}["{key}"]') for p, key in zip(params[-2:], "ba")]
            texts[-2:] = [tree]
            arguments[-2:] = ['{{"b": {}, "a": {}}}'.format(*arguments[-2:])]
    reverse = writer.reverse or reverse
    function = body_of(writer, texts, params, result, least=2, jvp=True, reverse=reverse)
    function.statements[:0] = unpacked
    return Drawn(function, arguments, leaves, result.leaves)


class Result:
    """Writes what a function returns: a tree, of which it counts the leaves, or a loss, or both."""

    def __init__(self, loss: bool, tree: bool):
        self.loss, self.tree, self.leaves = loss, tree, 0

    def __call__(self, inner: Writer) -> str:
        parts = [_loss(inner)] if self.loss else []
        parts += [self.tree_of(inner)] if self.tree else []
        return ", ".join(parts)

    def tree_of(self, inner: Writer) -> str:
        rng = inner.rng
        self.leaves = rng.choice([1, 1, 2, 3])
        leaves = [output_of(inner) for _ in range(self.leaves)]
        if self.leaves == 1 and rng.random() < 0.8:
            return leaves[0]
        trees = ["({},)".format(", ".join(leaves)), "[{}]".format(", ".join(leaves))]
        if self.leaves == 2:
            trees += ['{{"u": {}, "t": {}}}'.format(*leaves), "({}, (None, {}))".format(*leaves)]
        return rng.choice(trees)


def _loss(inner: Writer) -> str:
    """A number, made of one or two arrays."""
    own = [v for v in inner.own() if v.dtype in INEXACT]
    chosen = inner.rng.choices(own, k=inner.rng.choice([1, 1, 2])) if own else [inner.pick("f")]
    forms = "jnp.sum({}) jnp.mean(jnp.tanh({})) jnp.vdot({0},{0}) 0.5*jnp.sum(jnp.sin({}))".split()
    return " + ".join(f"{inner.rng.choice(forms).format(v)}.real" for v in chosen)


def _operands(writer: Writer) -> list[Variable]:
    found = some(writer, 1, 3, "fffffipz")
    if not any(v.dtype in KINDS["f"] for v in found):
        found += some(writer, 1, 1, "f")
    return found


def _elements(writer: Writer) -> list[Variable]:
    """Arrays of the same length."""
    first = writer.find(lambda v: bool(v.shape) and v.dtype in KINDS["f"])
    found = [first, *some(writer, 0, 2, "ffip")] if first else []
    return list(dict.fromkeys(v for v in found if v.shape and v.shape[0] == found[0].shape[0]))


# ---- writers of statements ----


def _derivative(writer: Writer, family: str) -> list[Variable]:
    batched = family == "of batches"
    operands = _elements(writer) if batched else _operands(writer)
    if not any(v.dtype in INEXACT for v in operands):
        return []
    result = Result(loss="loss" in family, tree="loss" not in family or "more" in family)
    drawn = _drawn(writer, operands, result, family != "in forward mode", batched)
    fields = _fields(writer, drawn)
    lacking = [name for name in ("{n}", "{m}") if name[1] not in fields]
    forms = [form for form in FORMS[family] if not any(name in form[1] for name in lacking)]
    if not forms:
        return []
    count, text = writer.rng.choice(forms)
    sizes = {"D": int(fields["D"]), "P": int(fields["P"]), "O": drawn.outputs}
    calls = []
    for wrapper in dict.fromkeys([_wrapper(writer), "{}"]):
        fields["f"] = wrapper.format(drawn.function.name)
        calls.append(f"leaves0({text.format(**fields)})")
    number = eval(count, sizes)
    calls = [f"{call}[0]" for call in calls] if number == 1 else calls
    return writer.add(calls[0], [drawn.function], _helpers(calls[0]), calls[1:], number)


def _fields(writer: Writer, drawn: Drawn) -> dict[str, str]:
    """What stands for the letters in braces, {f} excepted."""
    rng, leaves = writer.rng, drawn.leaves
    inexact = [n for n, own in enumerate(leaves) if all(v.dtype in INEXACT for v in own)]
    chosen = [n for n in inexact if rng.random() < 0.7] or inexact[:1]
    small = [n for n in inexact if len(leaves[n]) == 1 and leaves[n][0].size <= 9]
    arguments = ", ".join(drawn.arguments)
    one = len(chosen) == 1 and rng.random() < 0.6
    fields = {
        "xs": arguments,
        "xt": f"({arguments},)",
        "all": str(tuple(range(len(leaves)))),
        "D": str(sum(len(leaves[n]) for n in chosen)),
        "P": str(sum(map(len, leaves))),
    }
    if chosen:
        fields["n"] = str(chosen[0] if one else tuple(chosen))
    return fields | ({"m": str(rng.choice(small))} if small else {})


def _wrapper(writer: Writer) -> str:
    """jit or checkpoint around the function that is differentiated, or nothing."""
    if writer.rng.random() < 0.6:
        return "{}"
    policy = f", policy=jax.checkpoint_policies.{writer.rng.choice(POLICIES)}"
    options = writer.rng.choice(["", policy, policy, ", prevent_cse=False"])
    return writer.rng.choice(["jax.jit({})", f"jax.checkpoint({{}}{options})"])


def _helpers(text: str) -> list[str]:
    return [f"{name} = {code}" for name, code in HELPERS.items() if name in text]


def _with_rule(writer: Writer) -> list[Variable]:
    """A function of an array and an integer, with a rule."""
    operand, other = writer.pick("f"), writer.pick(writer.rng.choice("iif"))
    if operand is None or other is None:
        return []
    params = [fresh(writer, "x", operand), fresh(writer, "x", other)]
    closed, writer.scope = writer.scope, []
    functions = [
        body_of(writer, [*map(str, params)], params, lambda inner: next_carry(inner, params[0]))
        for _ in range(2)
    ]
    writer.scope = closed
    made, rule, call = writer.rng.choice(FORMS["rules"])
    names = {"v": functions[0].name, "s": functions[1].name, "r": writer.new_name("r")}
    names |= {"x": str(operand), "i": str(other)}
    lines = [f"{names['r']} = {made.format(**names)}", rule.format(**names)]
    return writer.add(call.format(**names), functions, lines)


def _from_templates(writer: Writer, family: str) -> list[Variable]:
    """An operation, or a loop with a mistake."""
    text = filled(writer.rng.choice(FORMS[family])[0], writer)
    return writer.add(text) if text else []


FAMILIES = {
    "of a loss": 8,
    "of a loss with more": 3,
    "in reverse mode": 5,
    "in forward mode": 4,
    "of batches": 4,
}
#: Writers of derivatives, and how often each is to write.
DERIVATIVES = [(partial(_derivative, family=name), n) for name, n in FAMILIES.items()]
#: The same within other functions, where they are fewer.
WRITERS: list[tuple[Callable[[Writer], list[Variable]], int]] = [
    *((write, n // 3) for write, n in DERIVATIVES),
    (_with_rule, 4),
    (partial(_from_templates, family="operations"), 5),
    (partial(_derivative, family="with mistakes"), 1),
    (partial(_from_templates, family="loops with mistakes"), 1),
]
