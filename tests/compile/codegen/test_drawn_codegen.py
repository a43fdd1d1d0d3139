"""Statements around others as C, nested as drawn at random."""

import numpy as np
from drawn import draws

from tinyjax.compile.codegen.codegen import Scope, lines_of
from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.kernel_ir import Const, For, If, Let, PrivateArray, Store, Value, While

F32, BOOL = np.dtype("float32"), np.dtype(bool)
ITEMS = PrivateArray("items", F32, 8)
A, MORE, LESS = Value("a", F32), Value("more", BOOL), Value("less", BOOL)


class Nest:
    """Statements, and by another way what their lines are: depth first, each with its depth and origin."""

    def __init__(self, draw, index_type):
        self.draw, self.index_type, self.count, self.lines = draw, index_type, 0, []

    def body(self, depth, level, most=3):
        return [self.statement(depth, level) for _ in range(self.draw.randint(0, most))]

    def line(self, level, text, origin):
        self.lines.append(("  " * level + text, origin))

    def statement(self, depth, level):
        self.count += 1
        origin = self.draw.choice([f"equation {self.count}", None])
        kinds = ["store", "let", *(["for", "while", "if"] * 2 if depth else [])]
        return getattr(self, f"made_{self.draw.choice(kinds)}")(depth, level, origin)

    def made_store(self, depth, level, origin):
        self.line(level, f"items[{self.count % 8}] = a;", origin)
        return Store(ITEMS, index(self.count % 8), A, origin=origin)

    def made_let(self, depth, level, origin):
        name = f"b{self.count}"
        self.line(level, f"const float {name} = a * a;", origin)
        return Let(Value(name, F32), "mul", (A, A), origin=origin)

    def made_for(self, depth, level, origin):
        draw, name = self.draw, f"i{self.count}"
        variable, step = index_var(name, 0, 99), draw.choice([1, 1, 2, 3, 16])
        start = draw.choice([index(0), index(5), index_var("item", 0, 3)])
        stop = draw.choice([index(8), index_var("item", 0, 3) + 7])
        also = " && !tj_stopped(stop, 7)" if (operations := draw.choice([0, 0, 7])) else ""
        by = f"++{name}" if step == 1 else f"{name} += {step}"
        head = f"for ({self.index_type} {name} = {start}; {name} < {stop}{also}; {by}) {{"
        self.line(level, head, origin)
        body = self.body(depth - 1, level + 1)
        self.line(level, "}", origin)
        return For(variable, start, stop, body, step, operations, origin=origin)

    def made_while(self, depth, level, origin):
        holds, operations = self.draw.choice([MORE, LESS]), self.draw.choice([0, 9])
        self.line(level, "for (;;) {", origin)
        head = self.body(depth - 1, level + 1, 2)
        also = " || tj_stopped(stop, 9)" if operations else ""
        self.line(level + 1, f"if (!{holds.name}{also}) break;", origin)
        body = self.body(depth - 1, level + 1)
        self.line(level, "}", origin)
        return While(head, holds, body, operations, origin=origin)

    def made_if(self, depth, level, origin):
        condition, text = self.draw.choice(
            [(MORE, "more"), (LESS, "less"), (Const(True, BOOL), "1")]
        )
        self.line(level, f"if ({text}) {{", origin)
        body = self.body(depth - 1, level + 1)
        at = len(self.lines)
        otherwise = self.body(depth - 1, level + 1)
        if otherwise:
            self.lines.insert(at, ("  " * level + "} else {", origin))
        self.line(level, "}", origin)
        return If(condition, body, otherwise, origin=origin)


def test_of_any_nest_each_line_has_its_depth_and_its_origin():
    for draw in draws(60):
        index_type = draw.choice(["int", "long"])
        nest = Nest(draw, index_type)
        body = nest.body(min(4, draw.size), 0)
        found = list(lines_of(body, Scope(index_type), ""))
        for number, (line, expected) in enumerate(zip(found, nest.lines)):
            text = "\n".join(line for line, _ in nest.lines)
            assert line == expected, f"line {number} of\n{text}\nis {line}, expected {expected}"
        assert len(found) == len(nest.lines), f"expected {nest.lines}\nfound {found}"
