"""exp, log, logistic, cbrt, erf and others of float32 in C, and a table of all functions.

After this file you know how such functions are made: bring the argument into a small range, evaluate
a polynomial there, undo the first step. OpenCL's own functions say the same, one element at a time
on a CPU, and take about ten times as long; a kernel that computes in float64 uses those. Results are
within 4 units in the last place, but for erf_inv. Builds on c_angles, c_hyperbolic and c_double, which
hold the others.

Source of the polynomials: S. Moshier, Cephes Math Library (1989), single precision,
https://www.netlib.org/cephes/; those of exp, exp2, expm1, erf and erfc are fitted so that the largest
error is smallest.
"""

from __future__ import annotations

from collections.abc import Iterable

from tinyjax.compile.codegen.c_angles import (
    ACOS,
    ANGLE_REST,
    ASIN,
    ATAN,
    ATAN2,
    COS,
    SIN,
    SINE,
    SMALL_ASIN,
    SMALL_ATAN,
    TAN,
)
from tinyjax.compile.codegen.c_double import DIGAMMA, LGAMMA, LOG_DOUBLE, POW, SINE_OF_TURN
from tinyjax.compile.codegen.c_hyperbolic import ACOSH, ASINH, ATANH, COSH, SINH, TANH

# exp(x) = 2**n * exp(r): n is the nearest integer to x / log(2), found by a sum whose fraction does not
# fit (its last bits are n); log(2) is subtracted in two parts. The last bits of m are n - 1 + 127, which
# are the exponent's of 2**(n - 1); a factor of two follows, as 2**n may be no float where the result is
# one. Where the result has fewer digits than others, it is n + 63 and a small factor.
EXP = """\
float tj_exp(float x) {
  const float above = x < -104.0f ? -104.0f : x, c = above > 89.0f ? 89.0f : above;
  const float m = c * 1.44269504f + 12583038.0f, n = m - 12583038.0f;
  const float r = (c - n * 0.693359375f) - n * -2.12194440e-4f;
  float y = 1.3814517e-3f;
  y = y * r + 8.3687557e-3f;
  y = y * r + 4.1668393e-2f;
  y = y * r + 1.6666520e-1f;
  y = y * r + 4.9999994e-1f;
  y = y * r + 1.0f;
  y = y * r + 1.0f;
  const int is_small = x < -80.0f;
  const float power = as_float((as_int(m) + (is_small ? 64 : 0)) << 23);
  return y * power * (is_small ? 1.0842021724855044e-19f : 2.0f);
}
"""

# exp(x) / 2 where nothing is too large or too small: x from -80 to 88.8.
HALF_EXP = """\
float tj_half_exp(float x) {
  const float m = x * 1.44269504f + 12582911.0f, n = m - 12582911.0f;
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  float y = 1.3814517e-3f;
  y = y * r + 8.3687557e-3f;
  y = y * r + 4.1668393e-2f;
  y = y * r + 1.6666520e-1f;
  y = y * r + 4.9999994e-1f;
  y = y * r + 1.0f;
  y = y * r + 1.0f;
  return as_float(as_int(y) + (as_int(m) << 23));
}
"""

# exp(x) - 1 = 2**n (exp(r) - 1) + (2**n - 1), which keeps the digits near 0; half of it, as in exp: the last
# bits of m are the exponent's, n + 126. Below -30 the result is -1. The polynomial's parts do not wait for
# one another, as they do in Horner's scheme.
EXPM1 = """\
float tj_expm1(float x) {
  const float above = x < -30.0f ? -30.0f : x, c = above > 89.0f ? 89.0f : above;
  const float m = c * 1.44269504f + 12583038.0f, n = m - 12583038.0f;
  const float r = (c - n * 0.693359375f) - n * -2.12194440e-4f;
  const float z = r * r;
  const float q = (8.3666211e-3f * r + 4.1666280e-2f) + 1.3946515e-3f * z;
  const float p = (1.6666542e-1f * r + 0.5f) + q * z;
  const float half_s = as_float(as_int(m) << 23);
  const float half_y = half_s * (p * z + r) + (half_s - 0.5f);
  return x == 0.0f ? x : half_y + half_y;
}
"""

_LOG_OF_1_PLUS_F = """\
  const float z = f * f;
  float p = 7.0376836292e-2f;
  p = p * f + -1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f + -1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f + -1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f + -2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  const float y = (f * z * p + k * -2.12194440e-4f) - 0.5f * z;
  const float finite = (f + y) + k * 0.693359375f;
"""

# log(x) = e log(2) + log(1 + f), with x = 2**e (1 + f) and 1 + f between sqrt(1/2) and sqrt(2).
LOG = (
    """\
float tj_log(float x) {
  const int is_small = x < 1.17549435e-38f;
  const int bits = as_int(is_small ? x * 8388608.0f : x) - 0x3f3504f3;
  const int e = bits >> 23;
  const float k = convert_float(is_small ? e - 23 : e);
  const float f = as_float((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
"""
    + _LOG_OF_1_PLUS_F
    + """\
  return x > 0.0f ? (x == INFINITY ? x : finite) : x == 0.0f ? -INFINITY : NAN;
}
"""
)

# log(1 + x) as log(u) of the rounded sum u, with what was lost in that sum taken from f.
LOG1P = (
    """\
float tj_log1p(float x) {
  const float u = 1.0f + x;
  const float lost = (u - 1.0f) - x;
  const int bits = as_int(u) - 0x3f3504f3;
  const int e = bits >> 23;
  const float k = convert_float(e);
  const float s = as_float(e < 64 ? 0x3f800000 - (e << 23) : 0);
  const float f = (as_float((bits & 0x007fffff) + 0x3f3504f3) - 1.0f) - lost * s;
"""
    + _LOG_OF_1_PLUS_F
    + """\
  return x > -1.0f ? ((x == INFINITY) | (x == 0.0f) ? x : finite) : x == -1.0f ? -INFINITY : NAN;
}
"""
)

# 1 / (1 + exp(-x)), with both parts of the fraction times 2**-64: so exp(-x) is never too large, where the
# result still has digits. The last bits of m are the exponent's, n - 64 + 127. The polynomial is of a
# degree less than that of exp: it is fitted to exp(-r) so that the largest error is smallest.
LOGISTIC = """\
float tj_logistic(float x) {
  const float above = x < -104.0f ? -104.0f : x, c = above > 40.0f ? 40.0f : above;
  const float m = c * -1.44269504f + 12582975.0f, n = m - 12582975.0f;
  const float r = (c + n * 0.693359375f) + n * -2.12194440e-4f;
  float y = -8.31218623e-3f;
  y = y * r + 4.18911576e-2f;
  y = y * r + -1.66671216e-1f;
  y = y * r + 4.99992251e-1f;
  y = y * r + -1.0f;
  y = y * r + 1.0f;
  const float power = as_float(as_int(m) << 23);
  return 5.421010862427522e-20f / (y * power + 5.421010862427522e-20f);
}
"""

# erf(x) for x from -0.925 to 0.925
SMALL_ERF = """\
float tj_small_erf(float x) {
  const float z = x * x;
  float p = -5.95374207e-4f;
  p = p * z + 4.98594064e-3f;
  p = p * z + -2.676172e-2f;
  p = p * z + 1.12816826e-1f;
  p = p * z + -3.76124799e-1f;
  p = p * z + 1.28379151e-1f;
  return p * x + x;
}
"""

# A polynomial near 0, 1 - exp(q(x)) elsewhere
ERF = """\
float tj_erf(float x) {
  const float size = as_float(as_int(x) & 0x7fffffff), t = size < 4.0f ? size : 4.0f;
  float q = -1.12312282e-5f;
  q = q * t + 3.22803098e-4f;
  q = q * t + -3.64245614e-3f;
  q = q * t + 2.37620566e-2f;
  q = q * t + -1.06236868e-1f;
  q = q * t + -6.35151327e-1f;
  q = q * t + -1.12864852f;
  const float far = 1.0f - 2.0f * tj_half_exp(q * t);
  const float y = size > 0.925f ? far : tj_small_erf(x);
  return as_float(as_int(y) | (as_int(x) & (int)0x80000000));
}
"""

# 1 - erf(x) near 0; P(q) / (1 + 2 x) * exp(-x * x) for larger x, with q = (x - 2) / (x + 2); and
# 2 - erfc(-x) left of 0. exp would multiply the rounding of x * x by up to a hundred: the square is taken
# in two parts, h * h, which is exact, and the rest.
# Source: M. Shepherd and J. Laframboise, Mathematics of Computation 36 (1981).
ERFC = """\
float tj_erfc(float x) {
  const float size = as_float(as_int(x) & 0x7fffffff), a = size < 10.2f ? size : 10.2f;
  const float q = (a - 2.0f) / (a + 2.0f);
  float p = -3.99447163e-4f;
  p = p * q + -1.22799934e-3f;
  p = p * q + 1.31330756e-3f;
  p = p * q + 8.63009412e-3f;
  p = p * q + -8.0601424e-3f;
  p = p * q + -5.42038828e-2f;
  p = p * q + 1.64055422e-1f;
  p = p * q + -1.66031465e-1f;
  p = p * q + -9.27639827e-2f;
  p = p * q + 1.27697837f;
  const float h = as_float(as_int(a) & (int)0xfffff000);
  const float rest = (h - a) * (h + a);
  float e = 1.0f + rest * 0.25f;
  e = 1.0f + rest * 0.333333343f * e;
  e = 1.0f + rest * 0.5f * e;
  e = 1.0f + rest * e;
  const float y = p / (1.0f + 2.0f * a) * e * tj_exp(-h * h);
  return x != x ? x : size < 0.5f ? 1.0f - tj_small_erf(x) : x < 0.0f ? 2.0f - y : y;
}
"""

# 2**x as exp(x), without log(2)
EXP2 = """\
float tj_exp2(float x) {
  const float above = x < -151.0f ? -151.0f : x, c = above > 128.0f ? 128.0f : above;
  const float m = c + 12583038.0f, r = c - (m - 12583038.0f);
  float y = 1.53149485e-5f;
  y = y * r + 1.54671099e-4f;
  y = y * r + 1.3333431e-3f;
  y = y * r + 9.61803645e-3f;
  y = y * r + 5.55041097e-2f;
  y = y * r + 2.40226507e-1f;
  y = y * r + 6.93147182e-1f;
  y = y * r + 1.0f;
  const int is_small = x < -120.0f;
  const float power = as_float((as_int(m) + (is_small ? 64 : 0)) << 23);
  return y * power * (is_small ? 1.0842021724855044e-19f : 2.0f);
}
"""

# A third of the bits is near the root: the exponent is divided by three. Halley's step triples the digits.
CBRT = """\
float tj_cbrt(float x) {
  const float size = as_float(as_int(x) & 0x7fffffff);
  const int is_small = size < 1e-30f, is_large = size > 1e30f;
  const float a = size * (is_small ? 281474976710656.0f : is_large ? 3.5527137e-15f : 1.0f);
  float y = as_float(convert_int(convert_float(as_int(a)) * 0.33333334f) + 709958130);
  float cube = y * y * y;
  y = y - y * ((cube - a) / (cube + cube + a));
  cube = y * y * y;
  y = y - y * ((cube - a) / (cube + cube + a));
  y = y * (is_small ? 1.52587891e-5f : is_large ? 65536.0f : 1.0f);
  const float root = as_float(as_int(y) | (as_int(x) & (int)0x80000000));
  return (size > 0.0f) & (size < INFINITY) ? root : x;
}
"""

# The formula of erf_inv in lax/special.py, operation for operation, as XLA computes it, so that random draws
# have JAX's bits. Here a * b + c is rounded once where it stands in one expression.
ERF_INV = """\
float tj_erf_inv(float y) {
  const float x = -(y * y), x2 = x * x, x3 = x * x2;
  float p = 4.5270000862445199635215e-5f;
  p = p * x + 4.9854102823193375972212e-1f;
  p = p * x + 6.5787325942061044846969f;
  p = p * x + 2.9911919328553073277375e1f;
  p = p * x + 6.0949667980987787057556e1f;
  p = p * x + 5.7112963590585538103336e1f;
  p = p * x + 2.0039553499201281259648e1f;
  float q = x + 1.5062909083469192043167e1f;
  q = q * x + 8.3047565967967209469434e1f;
  q = q * x + 2.2176239823732856465394e2f;
  q = q * x + 3.0909872225312059774938e2f;
  q = q * x + 2.1642788614495947685003e2f;
  q = q * x + 6.0118660497603843919306e1f;
  const float ratio = p / q, rest = x3 * ratio;
  const float correction = -0.5f * x2 + rest;
  const float near_0 = x + correction;
  const int bits = as_int(1.0f + x) - 0x3f3504f3;
  const float e = convert_float(bits >> 23);
  const float f = as_float((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
  const float f2 = f * f, f3 = f2 * f;
  float a = 7.0376836292e-2f * f + -1.1514610310e-1f;
  float b = -1.2420140846e-1f * f + 1.4249322787e-1f;
  float c = 2.0000714765e-1f * f + -2.4999993993e-1f;
  a = a * f + 1.1676998740e-1f;
  b = b * f + -1.6668057665e-1f;
  c = c * f + 3.3333331174e-1f;
  a = a * f3 + b;
  a = a * f3 + c;
  const float low = e * -2.12194440e-4f;
  a = a * f3 + low;
  const float high = f2 * -0.5f + f;
  const float sum = high + a;
  const float far = e * 0.693359375f + sum;
  const float w = -(x > -0.41421356237f ? near_0 : far);
  const int in_middle = w < 5.0f;
  const float t = in_middle ? w - 2.5f : sqrt(w) - 3.0f;
  float r = in_middle ? 2.81022636e-08f : -0.000200214257f;
  r = r * t + (in_middle ? 3.43273939e-07f : 0.000100950558f);
  r = r * t + (in_middle ? -3.5233877e-06f : 0.00134934322f);
  r = r * t + (in_middle ? -4.39150654e-06f : -0.00367342844f);
  r = r * t + (in_middle ? 0.00021858087f : 0.00573950773f);
  r = r * t + (in_middle ? -0.00125372503f : -0.0076224613f);
  r = r * t + (in_middle ? -0.00417768164f : 0.00943887047f);
  r = r * t + (in_middle ? 0.246640727f : 1.00167406f);
  r = r * t + (in_middle ? 1.50140941f : 2.83297682f);
  const float inside = r * y;
  return fabs(y) < 1.0f ? inside : fabs(y) == 1.0f ? y * INFINITY : NAN;
}
"""

# operation -> the C functions it needs, in order; the last is its own, tj_<operation>
FUNCTIONS = {
    "exp": [EXP],
    "exp2": [EXP2],
    "expm1": [EXPM1],
    "log": [LOG],
    "log1p": [LOG1P],
    "logistic": [LOGISTIC],
    "cbrt": [CBRT],
    "erf": [HALF_EXP, SMALL_ERF, ERF],
    "erfc": [EXP, SMALL_ERF, ERFC],
    "erf_inv": [ERF_INV],
    "sin": [ANGLE_REST, SINE, SIN],
    "cos": [ANGLE_REST, SINE, COS],
    "tan": [ANGLE_REST, TAN],
    "asin": [SMALL_ASIN, ASIN],
    "acos": [SMALL_ASIN, ACOS],
    "atan": [SMALL_ATAN, ATAN],
    "atan2": [SMALL_ATAN, ATAN2],
    "sinh": [HALF_EXP, SINH],
    "cosh": [HALF_EXP, COSH],
    "tanh": [HALF_EXP, TANH],
    "asinh": [LOG1P, ASINH],
    "acosh": [LOG1P, ACOSH],
    "atanh": [LOG1P, ATANH],
    "pow": [LOG_DOUBLE, POW],
    "lgamma": [LOG_DOUBLE, SINE_OF_TURN, LGAMMA],
    "digamma": [LOG_DOUBLE, SINE_OF_TURN, DIGAMMA],
}

# each C function by its name, without tj_
BY_NAME = {text.split("tj_")[1].split("(")[0]: text for ts in FUNCTIONS.values() for text in ts}


def functions_text(operations: Iterable[str]) -> list[str]:
    """The C functions that these operations of float32 need, each once."""
    used = set(operations)
    return list(dict.fromkeys(text for op, ts in FUNCTIONS.items() if op in used for text in ts))
