"""exp, expm1, log, log1p, tanh, logistic, erf, sin and cos of float32 in C, made for vector instructions.

After this file you know how such functions are made: bring the argument into a small range, evaluate
a polynomial there, undo the first step. OpenCL's own functions say the same, one element at a time
on a CPU, and take about ten times as long; a kernel that computes in float64 uses those. Results are
within 2 units in the last place (logistic: 3). Builds on nothing.

Source of the polynomials: S. Moshier, Cephes Math Library (1989), single precision,
https://www.netlib.org/cephes/; those of exp, expm1 and erf are fitted so that the largest error is smallest.
"""

from __future__ import annotations

from collections.abc import Iterable

# exp(x) = 2**n * exp(r): n is the nearest integer to x / log(2), found by a sum whose fraction does not
# fit (its last bits are n); log(2) is subtracted in two parts. Adding n to the bits of the exponent
# multiplies by 2**n. That is n - 1 here and then a factor of two, as 2**n may be no float where the
# result is one; where the result has fewer digits than others, it is n + 63 and a small factor.
EXP = """\
float tj_exp(float x) {
  const float c = x < -104.0f ? -104.0f : x;
  const float m = c * 1.44269504f + 12582912.0f, n = m - 12582912.0f;
  const float r = (c - n * 0.693359375f) - n * -2.12194440e-4f;
  float y = 1.3814517e-3f;
  y = y * r + 8.3687557e-3f;
  y = y * r + 4.1668393e-2f;
  y = y * r + 1.6666520e-1f;
  y = y * r + 4.9999994e-1f;
  y = y * r + 1.0f;
  y = y * r + 1.0f;
  const int is_small = x < -80.0f;
  const int k = as_int(m) + (is_small ? 63 : -1);
  const float scaled = as_float(as_int(y) + (k << 23)) * (is_small ? 1.0842021724855044e-19f : 2.0f);
  return x <= 88.8f ? scaled : x + INFINITY;
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

# exp(x) - 1 = 2**n (exp(r) - 1) + (2**n - 1), which keeps the digits near 0; half of it, as in exp. Below -30
# the result is -1.
EXPM1 = """\
float tj_expm1(float x) {
  const float c = x < -30.0f ? -30.0f : x > 89.0f ? 89.0f : x;
  const float m = c * 1.44269504f + 12582912.0f, n = m - 12582912.0f;
  const float r = (c - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.3946515e-3f;
  p = p * r + 8.3666211e-3f;
  p = p * r + 4.1666280e-2f;
  p = p * r + 1.6666542e-1f;
  p = p * r + 0.5f;
  const float half_s = as_float((as_int(m) + 126) << 23);
  const float half_y = half_s * (p * r * r + r) + (half_s - 0.5f);
  return (x == 0.0f) | (x != x) ? x : half_y + half_y;
}
"""

# log(x) = e log(2) + log(1 + f), with x = 2**e (1 + f) and 1 + f between sqrt(1/2) and sqrt(2).
LOG = """\
float tj_log(float x) {
  const int is_small = x < 1.17549435e-38f;
  const int bits = as_int(is_small ? x * 8388608.0f : x) - 0x3f3504f3;
  const int e = bits >> 23;
  const float k = convert_float(is_small ? e - 23 : e);
  const float f = as_float((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
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
  return x > 0.0f ? (x == INFINITY ? x : finite) : x == 0.0f ? -INFINITY : NAN;
}
"""

# log(1 + x) as log(u) of the rounded sum u, with what was lost in that sum taken from f.
LOG1P = """\
float tj_log1p(float x) {
  const float u = 1.0f + x;
  const float lost = (u - 1.0f) - x;
  const int bits = as_int(u) - 0x3f3504f3;
  const int e = bits >> 23;
  const float k = convert_float(e);
  const float s = as_float(e < 64 ? 0x3f800000 - (e << 23) : 0);
  const float f = (as_float((bits & 0x007fffff) + 0x3f3504f3) - 1.0f) - lost * s;
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
  return x > -1.0f ? ((x == INFINITY) | (x == 0.0f) ? x : finite) : x == -1.0f ? -INFINITY : NAN;
}
"""

# tanh(x): a polynomial near 0, 1 - 1 / (exp(2 |x|) / 2 + 1/2) elsewhere, which gets the sign of x.
TANH = """\
float tj_tanh(float x) {
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z + -5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z + -3.33332819422e-1f;
  const float near = x + x * z * p;
  const float size = as_float(as_int(x) & 0x7fffffff);
  const float far = 1.0f - 1.0f / (tj_half_exp(size < 10.0f ? 2.0f * size : 20.0f) + 0.5f);
  const float y = size < 0.625f ? near : x != x ? x : far;
  return as_float(as_int(y) | (as_int(x) & (int)0x80000000));
}
"""

# 1 / (1 + exp(-x)), and 0 where exp(-x) is no float
LOGISTIC = """\
float tj_logistic(float x) {
  const float c = x < -88.8f ? 88.8f : x > 80.0f ? -80.0f : -x;
  const float y = 0.5f / (0.5f + tj_half_exp(c));
  return x < -88.72284f ? 0.0f : x != x ? x : y;
}
"""

# erf(x): a polynomial near 0, 1 - exp(q(x)) elsewhere.
ERF = """\
float tj_erf(float x) {
  const float z = x * x;
  float p = -5.95374207e-4f;
  p = p * z + 4.98594064e-3f;
  p = p * z + -2.676172e-2f;
  p = p * z + 1.12816826e-1f;
  p = p * z + -3.76124799e-1f;
  p = p * z + 1.28379151e-1f;
  const float near = p * x + x;
  const float size = as_float(as_int(x) & 0x7fffffff), t = size < 4.0f ? size : 4.0f;
  float q = -1.12312282e-5f;
  q = q * t + 3.22803098e-4f;
  q = q * t + -3.64245614e-3f;
  q = q * t + 2.37620566e-2f;
  q = q * t + -1.06236868e-1f;
  q = q * t + -6.35151327e-1f;
  q = q * t + -1.12864852f;
  const float far = 1.0f - 2.0f * tj_half_exp(q * t);
  const float y = size > 0.925f ? far : near;
  return as_float(as_int(y) | (as_int(x) & (int)0x80000000));
}
"""

# sin and cos: n is the nearest integer to x / (pi/2), and r = x - n pi/2, with pi/2 in four parts of 11
# bits, whose products with n are exact. One polynomial gives sin(r), one cos(r); n says which is meant,
# and its sign. Beyond 1e4, and for inf and nan, OpenCL's function is asked, one number at a time: those
# of vectors are wrong in some drivers for all numbers if one is large.
SINE = """\
float tj_sine(float x, int quarter) {
  const float n = (x * 0.636619772f + 12582912.0f) - 12582912.0f;
  const float near = ((x - n * 1.5703125f) - n * 4.837512969970703e-4f) - n * 7.549533620476723e-8f;
  const float r = near - n * 2.563344e-12f;
  const float z = r * r;
  float s = -1.9515295891e-4f;
  s = s * z + 8.3321608736e-3f;
  s = s * z + -1.6666654611e-1f;
  s = s * z * r + r;
  float c = 2.443315711809948e-5f;
  c = c * z + -1.388731625493765e-3f;
  c = c * z + 4.166664568298827e-2f;
  c = (c * z * z - 0.5f * z) + 1.0f;
  const int k = convert_int(n) + quarter;
  return as_float(as_int((k & 1) != 0 ? c : s) ^ ((k & 2) << 30));
}
"""

SIN = """\
float tj_sin(float x) {
  float y = tj_sine(x, 0);
  y = x == 0.0f ? x : y;
  if (!((x <= 1e4f) & (x >= -1e4f))) y = sin(x);
  return y;
}
"""

COS = """\
float tj_cos(float x) {
  float y = tj_sine(x, 1);
  if (!((x <= 1e4f) & (x >= -1e4f))) y = cos(x);
  return y;
}
"""

# operation -> the C functions it needs, in order; the last is its own, tj_<operation>
FUNCTIONS = {
    "exp": [EXP],
    "expm1": [EXPM1],
    "log": [LOG],
    "log1p": [LOG1P],
    "tanh": [HALF_EXP, TANH],
    "sin": [SINE, SIN],
    "cos": [SINE, COS],
    "logistic": [HALF_EXP, LOGISTIC],
    "erf": [HALF_EXP, ERF],
}

# each C function by its name, without tj_
BY_NAME = {text.split("tj_")[1].split("(")[0]: text for ts in FUNCTIONS.values() for text in ts}


def functions_text(operations: Iterable[str]) -> list[str]:
    """The C functions that these operations of float32 need, each once."""
    used = set(operations)
    return list(dict.fromkeys(text for op, ts in FUNCTIONS.items() if op in used for text in ts))
