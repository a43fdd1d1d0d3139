"""Division of 32-bit integers in C, made for vector instructions: CPUs have none that divide integers.

After this file you can say why a division of float64s, rounded down, is exact: a fraction x / y that is no
integer is at least 1 / |y| away from one, and that is more than a float64 of its size is wrong by. Division
by zero gives -1, and the remainder is then x, as in JAX. Builds on nothing.
"""

from __future__ import annotations

# -2**31 / -1 is 2**31, which is no int: it becomes -2**31.
DIV_INT = """\
int tj_div_int(int x, int y) {
  const double q = convert_double(x) / convert_double(y == 0 ? 1 : y);
  return y == 0 ? -1 : convert_int(q < 2147483648.0 ? q : -2147483648.0);
}
"""
DIV_UINT = """\
uint tj_div_uint(uint x, uint y) {
  const double q = convert_double(x) / convert_double(y == 0u ? 1u : y);
  return y == 0u ? 0xffffffffu : convert_uint(q);
}
"""
REM_INT = """\
int tj_rem_int(int x, int y) {
  return as_int(as_uint(x) - as_uint(tj_div_int(x, y)) * as_uint(y));
}
"""
REM_UINT = """\
uint tj_rem_uint(uint x, uint y) { return x - tj_div_uint(x, y) * y; }
"""

# each C function by its name, without tj_
BY_NAME = {"div_int": DIV_INT, "div_uint": DIV_UINT, "rem_int": REM_INT, "rem_uint": REM_UINT}
