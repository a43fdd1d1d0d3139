"""Hoist: loop-invariant values are computed before the loop.

A load runs once if its index is invariant and the loop stores nothing to its memory, and so does everything
computed from such loads.

    for i1 in 0 .. 9:                  a:f32 = a_in[0]
      a:f32 = a_in[0]                  b:f32 = sin a
      b:f32 = sin a                    for i1 in 0 .. 9:
      c:f32 = carry                      c:f32 = carry
      ...                                ...

The elements that an inner loop reads in each iteration are copied to a private array: they are *packed*. All
rows of a block are multiplied with the same panel of the right operand: copied once, in the order in which it
is read, it stays in the fastest cache whatever the operand's strides are.

    for tile in 0 .. 8:                    for k1 in 0 .. 100:
      for k in 0 .. 100:                     b1:f32 x16 = b_in[k1 * 70 x16]
        b:f32 x16 = b_in[k * 70 x16]         panel1[k1 x16] = b1
        ...                                for tile in 0 .. 8:
                                             for k in 0 .. 100:
                                               b:f32 x16 = panel1[k x16]
                                               ...

Source: K. Goto, R. van de Geijn, "Anatomy of high-performance matrix multiplication", 2008;
Halide's compute_at, https://halide-lang.org/tutorials/tutorial_lesson_08_scheduling_2.html
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.substitution import defined_names, substituted
from tinyjax.compile.schedules import directive
from tinyjax.compile.schedules.dependences import iterations, numbers, why_not_numbered
from tinyjax.compile.schedules.nests import Fresh, names_in, the_same, varying_in, without

Statements = list[ir.Let | ir.Load]


@dataclass(frozen=True)
class Hoist(directive.LoopDirective):
    """Hoists what is the same in all iterations of the loop over `axis` (of the outermost while if it is
    empty).

    With `inner`, packs what the innermost of these loops reads and each iteration of `axis` reads again. The
    array has one element for each of their iterations; the last axis is contiguous."""

    inner: tuple[str, ...] = ()
    may_be_while = True

    def _why_not(self, kernel: ir.Kernel, outer: ir.For | ir.While) -> str:
        if not self.inner:
            return "" if _same(outer) else "its iterations compute nothing that is the same in all"
        if reason := directive.no_such_axis(kernel, *self.inner):
            return reason
        varying = varying_in(outer)
        for axis in self.inner:
            loop = directive.loop_over(kernel, axis)
            if loop is outer or not any(loop is other for other in directive.loops_of([outer])):
                return f"the loop over {axis} is not in that over {self.axis}"
            if reason := why_not_numbered(loop):
                return reason
            if names_in([loop.start, loop.stop]) & varying:
                return f"the loop over {axis} is not the same in all iterations of {self.axis}"
        if not self._packed(kernel)[1]:
            return f"it reads nothing that is the same in all iterations of {self.axis}"
        return ""

    def _applied(self, kernel: ir.Kernel) -> ir.Kernel:
        if not self.inner:
            return super()._applied(kernel)
        loops = [directive.loop_over(kernel, axis) for axis in self.inner]
        innermost, (same, packed) = self._innermost(kernel), self._packed(kernel)
        fresh, (number, count) = Fresh(kernel), numbers(loops)
        has_gaps = len(loops) > 1 and iterations(loops[-1]).bit_count() > 1
        allocated, loads, stores = ir.Body(), ir.Body(), ir.Body()
        for maker in packed:
            with ir.statements_of(maker.origin):
                v = maker.target
                array = ir.PrivateArray(fresh("panel"), v.dtype, count, v.width)
                # Rows padded to a power of two have gaps, which are set as well.
                zero = ir.Const(v.dtype.type(0), v.dtype) if has_gaps else None
                allocated.append(ir.Allocate(array, zero))
                stores.append(ir.Store(array, number, v))
                loads.append(ir.Load(v, array, number))
        copy = directive.in_loops(loops, [*same, *stores])
        names = {name: fresh(name) for name in (*self.inner, *defined_names(copy))}
        stay = _needed_for_places(innermost.body, same, self.inner[-1])
        body = [*loads, *(s for s in innermost.body if s not in same or s in stay)]
        rest = directive.with_loop(
            kernel, directive.axis_of(innermost), lambda loop: [replace(loop, body=body)]
        )
        before = [*allocated, *substituted(copy, {}, names)]
        return directive.with_loop(rest, self.axis, lambda outer: [*before, outer])

    def _changed(self, loop: ir.For | ir.While) -> ir.Body:
        same = _same(loop)
        bodies: Any = {name: without(getattr(loop, name), same) for name in ir.BODIES[type(loop)]}
        return [*same, replace(loop, **bodies)]

    def _innermost(self, kernel: ir.Kernel) -> ir.For:
        """The innermost loop of `inner`."""
        loops = [directive.loop_over(kernel, axis) for axis in self.inner]
        return min(loops, key=lambda loop: len(directive.loops_of(loop.body)))

    def _packed(self, kernel: ir.Kernel) -> tuple[Statements, Statements]:
        """The statements that are invariant in the loop over `axis`, and those that other statements use."""
        body = self._innermost(kernel).body
        varying = varying_in(directive.loop_over(kernel, self.axis)) - set(self.inner)
        loads = (s for s in body if isinstance(s, ir.Load))
        others = [s for s in loads if getattr(s.memory, "role", "") != "in"]
        same = the_same(without(body, others), varying)
        stay = _needed_for_places(body, same, self.inner[-1])
        used = names_in([s for s in body if s not in same])
        return same, [s for s in same if s.target.name in used and s not in stay]


def _same(loop: ir.For | ir.While) -> Statements:
    """The statements that can move out of the loop."""
    return the_same(sum(ir.inner_bodies(loop), []), varying_in(loop))


def _needed_for_places(body: ir.Body, same: Statements, axis: str) -> Statements:
    """The statements of `same` that compute indices of other loads. If they don't depend on `axis` they are
    not packed: from a panel, each lane would have its own index."""
    along = {axis}
    for s in same:
        if names_in(s) & along:
            along.add(s.target.name)
    places = [s.index for s in body if isinstance(s, ir.Load) and s not in same]
    wanted, stay = names_in(places) - along, Statements()
    for s in reversed(same):
        if s.target.name in wanted:
            stay.insert(0, s)
            wanted |= names_in(s)
    return stay
