"""Each condition in the function of a rule has an example, without which it could be left out.

A condition is replaced by True or False: then the rules must make something else of one of the programs in
test_rewrite_rules.py, test_every_rule.py and test_late_rules.py, or fail.
"""

import ast
import inspect
import runpy
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tinyjax.compile.passes import late_rules, rewrite_rules
from tinyjax.core.tracing import make_jaxpr


@cache
def programs():
    """The jaxprs of the examples: of rules that apply, and of rules that don't."""
    rules, every, late = (
        runpy.run_path(str(Path(__file__).with_name(f"test_{name}.py")))
        for name in ("rewrite_rules", "every_rule", "late_rules")
    )
    examples = [(f, every["special"]("float32")) for f in every["EXAMPLES"].values()]
    examples += [(f, x) for f, x, _ in rules["APPLIES"] + rules["NOT"]]
    examples += [example for _, *example in late["APPLIES"]] + late["NOT"]
    with np.errstate(all="ignore"):
        return [make_jaxpr(f)(*args) for f, *args in examples]


def patterns_of(function):
    """The patterns of the function's @rule lines; none if it has no such line."""
    lines = [d for d in getattr(function, "decorator_list", ()) if isinstance(d, ast.Call)]
    return [line.args[0].value for line in lines if line.func.id == "rule"]


def conditions_of(function):
    """What its ifs test, and the operands of `and` and `or`; not whether there is a value, which guards what
    follows."""
    found = []
    for node in ast.walk(function):
        if isinstance(node, ast.If | ast.IfExp):
            found.append(node.test)
        elif isinstance(node, ast.BoolOp):
            found += node.values
    texts = (ast.unparse(condition) for condition in found)
    return [c for c, text in zip(found, texts) if not text.endswith("is None")]


def functions_of(module):
    tree = ast.parse(inspect.getsource(module))
    return tree, [function for function in tree.body if patterns_of(function)]


class Replaced(ast.NodeTransformer):
    def __init__(self, condition, value):
        self.condition, self.value = condition, value

    def visit(self, node):
        is_it = node is self.condition
        return ast.copy_location(ast.Constant(self.value), node) if is_it else super().visit(node)


def rewritten(tree, function, condition=None, value=None):
    """The programs that the function's rules are for, as rewritten by a module's rules with a condition
    replaced."""
    space = {}
    exec(compile(Replaced(condition, value).visit(tree), "rules", "exec"), space)
    rules = space.get("LATE_RULES") or space["RULES"]
    names = {pattern.split()[0] for pattern in patterns_of(function)}
    found = []
    for closed in programs():
        if names & {eqn.primitive.name for eqn in closed.eqns}:
            try:
                found.append(str(rewrite_rules.rewrite_rules(closed, rules)))
            except Exception as error:
                found.append(repr(error))
    return found


CASES = [
    (module, number, function.name)
    for module in (rewrite_rules, late_rules)
    for number, function in enumerate(functions_of(module)[1])
]


@pytest.mark.parametrize("module, number, name", CASES, ids=[name for *_, name in CASES])
def test_each_condition_of_a_rule_has_an_example(module, number, name):
    tree, functions = functions_of(module)
    expected = rewritten(tree, functions[number])
    for place, condition in enumerate(conditions_of(functions[number])):
        for value in (True, False):
            tree, functions = functions_of(module)
            function = functions[number]
            found = rewritten(tree, function, conditions_of(function)[place], value)
            text = f"{module.__name__}.{name}: no example needs `{ast.unparse(condition)}`"
            assert found != expected, f"{text}: it could be {value}"
