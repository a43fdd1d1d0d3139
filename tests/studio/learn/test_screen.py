"""Reading finds what answers may not do; they may do what a reference does."""

import pytest
from wrong_answers import right

from tinyjax.studio.learn.exercises import NAMES, in_clone, load
from tinyjax.studio.learn.functions import function_text, with_function
from tinyjax.studio.learn.screen import refusals

FILE = "practice/dual.py"
REFERENCE = in_clone(FILE).read_text(encoding="utf-8")


def screened(body, name="Dual.__mul__", head="def __mul__(self, other):"):
    answer = "\n".join([head, *(f"    {line}" for line in body.splitlines())])
    return refusals(with_function(REFERENCE, name, answer), REFERENCE, [name])


@pytest.mark.parametrize(
    "body",
    [
        "import os\nos._exit(0)",
        "import importlib.util",
        "from sys import modules",
        "from numpy.testing import assert_allclose",
        "from tinyjax.studio.learn.exercises import ROOT",
        "from practice.later.practice_dual import Dual___mul__",
        "import jax",
        "return open('dual.py').read()",
        "return exec('1')",
        "return type('F', (float,), {})",
        "return getattr(self, '__glo' + 'bals__')",
        "return (lambda: 0).__globals__",
        "return as_dual.__code__",
        "import numpy as np\nnp.testing.assert_allclose = print",
        "as_dual.cache = 3",
        "class F(float):\n    def __eq__(self, other):\n        return True",
        "class F(float):\n    __eq__ = lambda self, other: True",
        "raise SystemExit",
        "class F(float):\n    from operator import truth as __eq__",
        "class F:\n    class __eq__:\n        pass",
        "class F:\n    match print:\n        case __eq__:\n            pass",
        "class F:\n    def __contains__(self, x):\n        return True",
        "class F(float):\n    def __rsub__(self, x):\n        return 0.0",
        "class F(type):\n    def __prepare__(name, bases):\n        return {}",
        "class F(metaclass=print):\n    pass",
        "import numpy as np\nclass F(np.ndarray):\n    pass",
        "import numpy as np\nreturn np.ma.masked",
        "from numpy import ma",
        "import abc",
        "import enum",
        "import dataclasses\ndataclasses.make_dataclass('F', [])",
        "from typing import get_type_hints",
        "from contextlib import sys",
        "import collections\ncollections._sys",
        "from tinyjax.runtime.devices import threading",
        "import operator\noperator.attrgetter('__glo' + 'bals__')",
        "return getattr(self, '__glo' + 'bals__', None)",
        "look = getattr\nreturn look(self, '__glo' + 'bals__')",
        "import tinyjax.core.bind as b\nb.bind = print",
        "type(self).__radd__ = print",
        "from tinyjax.transform.jvp import jvp_rules\njvp_rules[1] = print",
        "import contextlib\nc = contextlib\nreturn vars(c)['s' + 'ys']",
        "global as_dual\nas_dual = print",
        "try:\n    other()\nexcept AssertionError:\n    pass",
    ],
)
def test_what_no_exercise_needs_is_refused(body):
    (said, *_) = screened(body)
    assert said.startswith("line ")


@pytest.mark.parametrize(
    "body",
    [
        "return Dual(self.primal * other, self.tangent * other)",
        "import numpy as np\nreturn np.linalg.solve(self, other)",
        "from functools import reduce\nreturn reduce(lambda a, b: a + b, [self, other])",
        "from tinyjax.core.bind import bind\nfrom numpy import sin\nreturn sin(self)",
        "result = Dual(1.0)\nresult.primal = 2.0\nreturn result",
        "def helper(x):\n    return x\nreturn helper(getattr(self, 'primal', 0))",
        "raise AssertionError('not reached')",
        "from tinyjax.core.bind import context\ncontext.trace = self",
        "return vars(self)",
        "table = {}\ntable[1] = 2\nself.primal[0] += 1\nreturn table",
        "class Pair(tuple):\n    def first(self):\n        return self[0]\nreturn Pair()",
    ],
)
def test_ordinary_programs_are_not(body):
    assert screened(body) == []


@pytest.mark.parametrize("exercise", load(), ids=lambda e: e.number)
def test_no_reference_is_refused(exercise):
    """Even with a line more in it, so that it isn't the same text."""
    for file, name in exercise.places:
        reference = in_clone(file).read_text(encoding="utf-8")
        text = function_text(reference, name).rstrip()
        text += "\n    None\n" if "\n" in text else "; None\n"
        assert refusals(with_function(reference, name, text), reference, [name]) == []


@pytest.mark.parametrize("lesson", range(len(NAMES)))
def test_no_right_answer_in_another_style_is_refused(lesson):
    for answer in right(lesson):
        for file, name, text in answer.functions:
            reference = in_clone(file).read_text(encoding="utf-8")
            assert refusals(with_function(reference, name, text), reference, [name]) == []
