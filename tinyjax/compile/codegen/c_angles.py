"""sin, cos, tan, asin, acos, atan and atan2 of float32 in C, made for vector instructions.

After this file you know how an angle is brought into an eighth of a turn, and how its inverse starts
from the smaller one of two ratios. Within 3 units in the last place. Builds on nothing.

Source of the method and of the polynomials of sin and cos: S. Moshier, Cephes Math Library (1989),
single precision, https://www.netlib.org/cephes/; other polynomials are fitted so that the largest
relative error is smallest.
"""

# x - n pi/2, for n the nearest integer to x / (pi/2), with pi/2 in four parts of 11 bits, whose
# products with n are exact.
ANGLE_REST = """\
float tj_angle_rest(float x, float n) {
  const float near = ((x - n * 1.5703125f) - n * 4.837512969970703e-4f) - n * 7.549533620476723e-8f;
  return near - n * 2.563344e-12f;
}
"""

# One polynomial gives sin(r), one cos(r); n says which is meant, and its sign. Beyond 1e4, and for inf
# and nan, OpenCL's function is asked, one number at a time: those of vectors are wrong in some drivers
# for all numbers if one is large.
SINE = """\
float tj_sine(float x, int quarter) {
  const float n = (x * 0.636619772f + 12582912.0f) - 12582912.0f;
  const float r = tj_angle_rest(x, n), z = r * r;
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

# tan(r), or -1 / tan(r) after an odd number of quarters
TAN = """\
float tj_tan(float x) {
  const float n = (x * 0.636619772f + 12582912.0f) - 12582912.0f;
  const float r = tj_angle_rest(x, n), z = r * r;
  float p = 9.46663413e-3f;
  p = p * z + 2.97270273e-3f;
  p = p * z + 2.45293435e-2f;
  p = p * z + 5.33809513e-2f;
  p = p * z + 1.33392036e-1f;
  p = p * z + 3.33331406e-1f;
  const float t = r + r * z * p;
  float y = (convert_int(n) & 1) != 0 ? -1.0f / t : t;
  y = x == 0.0f ? x : y;
  if (!((x <= 1e4f) & (x >= -1e4f))) y = tan(x);
  return y;
}
"""

# asin(s) for s from 0 to 1/2, with z = s * s. Beyond, asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)).
SMALL_ASIN = """\
float tj_small_asin(float s, float z) {
  float p = 3.75652164e-2f;
  p = p * z + 1.44025963e-2f;
  p = p * z + 3.18176150e-2f;
  p = p * z + 4.45157178e-2f;
  p = p * z + 7.50051066e-2f;
  p = p * z + 1.66666597e-1f;
  return s + s * z * p;
}
"""

ASIN = """\
float tj_asin(float x) {
  const float size = as_float(as_int(x) & 0x7fffffff);
  const int is_far = size > 0.5f;
  const float z = is_far ? 0.5f - 0.5f * size : size * size;
  const float t = tj_small_asin(is_far ? sqrt(z) : size, z);
  const float y = is_far ? 1.57079637f - (t + t + 4.37113883e-8f) : t;
  return as_float(as_int(y) | (as_int(x) & (int)0x80000000));
}
"""

ACOS = """\
float tj_acos(float x) {
  const float size = as_float(as_int(x) & 0x7fffffff);
  const int is_far = size > 0.5f;
  const float z = is_far ? 0.5f - 0.5f * size : size * size;
  const float t = tj_small_asin(is_far ? sqrt(z) : x, z);
  const float far = x < 0.0f ? 3.14159274f - (t + t + 8.74227766e-8f) : t + t;
  return is_far ? far : 1.57079637f - (t + 4.37113883e-8f);
}
"""

# atan(t) for t from -tan(pi/8) to tan(pi/8). Beyond, atan(x) = pi/4 + atan((x - 1) / (x + 1)), and for
# large x, pi/2 + atan(-1 / x).
SMALL_ATAN = """\
float tj_small_atan(float t) {
  const float z = t * t;
  float p = -6.08345345e-2f;
  p = p * z + 1.05960019e-1f;
  p = p * z + -1.42438486e-1f;
  p = p * z + 1.99984893e-1f;
  p = p * z + -3.33333164e-1f;
  return t + t * z * p;
}
"""

ATAN = """\
float tj_atan(float x) {
  const float size = as_float(as_int(x) & 0x7fffffff);
  const int is_large = size > 2.41421356f, is_middle = size > 0.41421356f;
  const float above = is_large ? -1.0f : is_middle ? size - 1.0f : size;
  const float below = is_large ? size : is_middle ? size + 1.0f : 1.0f;
  const float start = is_large ? 1.57079637f : is_middle ? 0.785398185f : 0.0f;
  const float y = start + (tj_small_atan(above / below) - start * 2.78275339e-8f);
  return as_float(as_int(y) | (as_int(x) & (int)0x80000000));
}
"""

# The angle of the smaller size over the larger, and from there to that of y over x. The scale keeps the
# sum of two large sizes finite.
ATAN2 = """\
float tj_atan2(float y, float x) {
  const float up = as_float(as_int(y) & 0x7fffffff), along = as_float(as_int(x) & 0x7fffffff);
  const float most = up > along ? up : along, least = up > along ? along : up;
  const int is_middle = (least > 0.41421356f * most) | (least == INFINITY);
  const float scale = most > 1.0f ? 0.25f : 1.0f;
  const float difference = least == most ? 0.0f : least * scale - most * scale;
  const float above = is_middle ? difference : least;
  const float below = is_middle ? least * scale + most * scale : most == 0.0f ? 1.0f : most;
  const float small = tj_small_atan(above / below);
  float a = is_middle ? 0.785398185f + (small - 2.18556941e-8f) : small;
  a = up > along ? 1.57079637f - (a + 4.37113883e-8f) : a;
  a = as_int(x) < 0 ? 3.14159274f - (a + 8.74227766e-8f) : a;
  return (x != x) | (y != y) ? x + y : as_float(as_int(a) | (as_int(y) & (int)0x80000000));
}
"""
