"""pow, lgamma and digamma of float32 in C, computed in float64 and rounded once.

After this file you know three functions that lose many digits on their way: a power multiplies the error
of a logarithm by up to a hundred, and a logarithm of the gamma function near its zeros is the difference of
large numbers. In float64 there are digits to spare, and vector instructions for it. Within 2 units in
the last place (pow: 1). Builds on nothing.

Source: the series for log(x) and exp(x), https://dlmf.nist.gov/4.6; for the gamma function, 5.11.
"""

# log(x) = e log(2) + 2 atanh(s), with s = f / (2 + f) and x = 2**e (1 + f), for x > 0. The bits of e
# become a number by a sum whose fraction does not fit.
LOG_DOUBLE = """\
double tj_log_double(double x) {
  const long bits = as_long(x) - 0x3fe6a09e667f3bcdL;
  const double e = as_double((bits >> 52) + 0x4338000000000000L) - 6755399441055744.0;
  const double f = as_double((bits & 0x000fffffffffffffL) + 0x3fe6a09e667f3bcdL) - 1.0;
  const double s = f / (2.0 + f), z = s * s;
  double p = 1.0 / 21;
  p = p * z + 1.0 / 19;
  p = p * z + 1.0 / 17;
  p = p * z + 1.0 / 15;
  p = p * z + 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  return e * 0.69314718055994531 + 2.0 * (s + s * z * p);
}
"""

# exp(y log |x|), rounded to float32 at the end; then what the C standard says of negative x, 0, inf and nan.
POW = """\
float tj_pow(float x, float y) {
  const float size = as_float(as_int(x) & 0x7fffffff);
  const double t = convert_double(y) * tj_log_double(convert_double(size));
  const double c = t < -110.0 ? -110.0 : t > 90.0 ? 90.0 : t;
  const double m = c * 1.4426950408889634 + 6755399441055744.0;
  const double r = c - (m - 6755399441055744.0) * 0.69314718055994531;
  double e = 1.0 / 40320;
  e = e * r + 1.0 / 5040;
  e = e * r + 1.0 / 720;
  e = e * r + 1.0 / 120;
  e = e * r + 1.0 / 24;
  e = e * r + 1.0 / 6;
  e = e * r + 0.5;
  e = e * r + 1.0;
  e = e * r + 1.0;
  const float usual = convert_float(e * as_double((as_long(m) + 1023) << 52));
  const int is_end = (size == 0.0f) | (size == INFINITY);
  const float at_end = (size == 0.0f) ^ (y > 0.0f) ? INFINITY : 0.0f;
  const float power = is_end ? at_end : usual;
  const int is_integer = rint(y) == y, is_odd = is_integer & (2.0f * rint(0.5f * y) != y);
  const int sign = is_odd ? as_int(x) & (int)0x80000000 : 0;
  const int is_nan = (x != x) | (y != y) | ((x < 0.0f) & !is_integer & !is_end);
  const int is_one = (x == 1.0f) | (y == 0.0f) | ((size == 1.0f) & (fabs(y) == INFINITY));
  return is_one ? 1.0f : is_nan ? NAN : as_float(as_int(power) | sign);
}
"""

# sin(pi f), for f from -1/2 to 1/2
SINE_OF_TURN = """\
double tj_sine_of_turn(double f) {
  const double r = f * 3.14159265358979324, z = r * r;
  double p = 1.0 / 51090942171709440000.0;
  p = p * z + -1.0 / 121645100408832000.0;
  p = p * z + 1.0 / 355687428096000.0;
  p = p * z + -1.0 / 1307674368000.0;
  p = p * z + 1.0 / 6227020800.0;
  p = p * z + -1.0 / 39916800;
  p = p * z + 1.0 / 362880;
  p = p * z + -1.0 / 5040;
  p = p * z + 1.0 / 120;
  p = p * z + -1.0 / 6;
  return r + r * z * p;
}
"""

# Stirling's series at u >= 8, reached by gamma(t + 8) = t (t + 1) ... (t + 7) gamma(t); left of 0,
# gamma(x) gamma(1 - x) = pi / sin(pi x). Only one logarithm is taken of all that is multiplied.
LGAMMA = """\
float tj_lgamma(float x) {
  const double d = convert_double(x);
  const long is_left = d < 0.0;
  const double t = is_left ? 1.0 - d : d;
  const long is_low = t < 8.0;
  const double a = t * (t + 7.0), product = a * (a + 6.0) * (a + 10.0) * (a + 12.0);
  const double u = is_low ? t + 8.0 : t, v = 1.0 / u, z = v * v;
  double p = -691.0 / 360360;
  p = p * z + 1.0 / 1188;
  p = p * z + -1.0 / 1680;
  p = p * z + 1.0 / 1260;
  p = p * z + -1.0 / 360;
  p = p * z + 1.0 / 12;
  const double series = ((u - 0.5) * tj_log_double(u) - u) + (0.91893853320467274 + p * v);
  const double over = is_low ? product : 1.0;
  const double f = d - ((d + 6755399441055744.0) - 6755399441055744.0);
  const double sine = tj_sine_of_turn(f);
  const double y = tj_log_double(is_left ? over / fabs(sine) : over);
  const float finite = convert_float(is_left ? (1.1447298858494002 - series) + y : series - y);
  const int is_infinite = (fabs(x) == INFINITY) | ((x <= 0.0f) & (rint(x) == x));
  const int is_zero = (x == 1.0f) | (x == 2.0f);
  return x != x ? x : is_infinite ? INFINITY : is_zero ? 0.0f : finite;
}
"""

# The derivative of the above: the sum of 1 / (t + k) is q / product, the derivative of the product over it.
DIGAMMA = """\
float tj_digamma(float x) {
  const double d = convert_double(x);
  const long is_left = d < 0.0;
  const double t = is_left ? 1.0 - d : d;
  const long is_low = t < 8.0;
  const double a = t * (t + 7.0), a6 = a + 6.0, a10 = a + 10.0, a12 = a + 12.0;
  const double first = a * a6, last = a10 * a12;
  const double slope = (a + a6) * last + first * (a10 + a12);
  const double fractions = (t + t + 7.0) * slope / (first * last);
  const double u = is_low ? t + 8.0 : t, v = 1.0 / u, z = v * v;
  double p = 1.0 / 12;
  p = p * z + -691.0 / 32760;
  p = p * z + 1.0 / 132;
  p = p * z + -1.0 / 240;
  p = p * z + 1.0 / 252;
  p = p * z + -1.0 / 120;
  p = p * z + 1.0 / 12;
  const double far = (tj_log_double(u) - 0.5 * v) - p * z;
  const double right = is_low ? far - fractions : far;
  const double f = d - ((d + 6755399441055744.0) - 6755399441055744.0);
  const double sine = tj_sine_of_turn(f), cosine = tj_sine_of_turn(0.5 - fabs(f));
  const double y = is_left ? right - 3.14159265358979324 * cosine / sine : right;
  const int is_nan = (x != x) | ((x <= 0.0f) & (rint(x) == x));
  return is_nan ? NAN : x == INFINITY ? x : convert_float(y);
}
"""
