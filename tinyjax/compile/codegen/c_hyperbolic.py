"""sinh, cosh, tanh and their inverses of float32 in C, made for vector instructions.

After this file you know how they follow from half of exp(x), where nothing overflows before the result
does, and from log(1 + x), which keeps the digits near 0. Within 3 units in the last place; the functions
tj_half_exp and tj_log1p are those of c_library. Builds on nothing.

Source: https://dlmf.nist.gov/4.37 for the inverses; the polynomial of sinh is fitted so that the largest
relative error is smallest, that of tanh is from S. Moshier, Cephes Math Library (1989).
"""

# Beyond 89.41599 the results are larger than all floats.
SINH = """\
float tj_sinh(float x) {
  const float size = as_float(as_int(x) & 0x7fffffff);
  const float c = size < 89.41598f ? size : 89.41598f, z = c * c;
  float p = 2.81743951e-6f;
  p = p * z + 1.98360663e-4f;
  p = p * z + 8.33335053e-3f;
  p = p * z + 1.66666672e-1f;
  const float half_exp = tj_half_exp(c);
  const float near = c + c * z * p, far = half_exp - 0.25f / half_exp;
  const float y = size <= 89.41598f ? (size < 1.0f ? near : far) : size + INFINITY;
  return as_float(as_int(y) | (as_int(x) & (int)0x80000000));
}
"""

COSH = """\
float tj_cosh(float x) {
  const float size = as_float(as_int(x) & 0x7fffffff);
  const float half_exp = tj_half_exp(size < 89.41598f ? size : 89.41598f);
  return size <= 89.41598f ? half_exp + 0.25f / half_exp : size + INFINITY;
}
"""

# A polynomial near 0, 1 - 1 / (exp(2 |x|) / 2 + 1/2) elsewhere, which gets the sign of x.
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

# log(1 + u) with u = x - 1 + sqrt(x * x + 1), or log(2 x) where x * x might be no float
ASINH = """\
float tj_asinh(float x) {
  const float size = as_float(as_int(x) & 0x7fffffff), z = size * size;
  const int is_large = size > 1e8f;
  const float y = tj_log1p(is_large ? size : size + z / (1.0f + sqrt(1.0f + z)));
  const float sum = is_large ? y + 0.693147182f : y;
  return as_float(as_int(sum) | (as_int(x) & (int)0x80000000));
}
"""

# log(1 + u) with u = x - 1 + sqrt((x - 1) (x + 1))
ACOSH = """\
float tj_acosh(float x) {
  const float t = x - 1.0f;
  const int is_large = x > 1e8f;
  const float y = tj_log1p(is_large ? x : t + sqrt(t * (t + 2.0f)));
  return x < 1.0f ? NAN : is_large ? y + 0.693147182f : y;
}
"""

# log((1 + x) / (1 - x)) / 2
ATANH = """\
float tj_atanh(float x) {
  const float size = as_float(as_int(x) & 0x7fffffff);
  const float y = 0.5f * tj_log1p((size + size) / (1.0f - size));
  return as_float(as_int(y) | (as_int(x) & (int)0x80000000));
}
"""
