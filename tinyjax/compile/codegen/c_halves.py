"""Floats of 16 bits to and from float32, in C: how they are stored, for all is computed in float32.

After this file you can read the bits of a float16: its exponent has five of them and begins at -14, that
of a float32 has eight and begins at -126; so the bits of most numbers move by 13 places, and 112 is
added. A bfloat16 is the upper half of a float32. Results are NumPy's: rounded to the nearest, and of two
to the even one; a NaN stays a NaN, perhaps with other bits. OpenCL's own vload_half and vstore_half are
functions that some drivers call for each element; choices between values that are all computed become
vectors. Builds on nothing.

Source: IEEE 754-2019; F. Giesen, "float->half variants", 2016
"""

from __future__ import annotations

LOAD_FLOAT16 = """\
float tj_load_float16(int bits) {
  const int rest = bits & 0x7fff;
  const float small = convert_float(rest) * 0x1p-24f;
  const int moved = rest << 13;
  const float other = as_float(rest < 0x7c00 ? moved + (112 << 23) : moved + (224 << 23));
  return as_float(as_int(rest < 0x400 ? small : other) | (bits & 0x8000) << 16);
}
"""
# The sum with 0.5 rounds a small number to a multiple of 2^-24.
STORE_FLOAT16 = """\
int tj_store_float16(float x) {
  const int bits = as_int(x), rest = bits & 0x7fffffff;
  const int small = as_int(as_float(rest) + 0.5f) - 0x3f000000;
  const int normal = (rest - (112 << 23) + 0xfff + (rest >> 13 & 1)) >> 13;
  const int large = rest > 0x7f800000 ? 0x7e00 | (rest >> 13 & 0x3ff) : 0x7c00;
  const int found = rest < 113 << 23 ? small : rest < 143 << 23 ? normal : large;
  return found | (bits >> 16 & 0x8000);
}
"""
# The same, but as a float32 again: between two operations
ROUND_FLOAT16 = """\
float tj_round_float16(float x) {
  const int bits = as_int(x), rest = bits & 0x7fffffff;
  const float small = as_float(rest) + 0.5f - 0.5f;
  const int moved = (rest - (112 << 23) + 0xfff + (rest >> 13 & 1)) & (int)0xffffe000;
  const float normal = as_float(moved + (112 << 23));
  const float size = rest < 113 << 23 ? small : normal < 65536.0f ? normal : INFINITY;
  return x != x ? x : as_float(as_int(size) | (bits & (int)0x80000000));
}
"""
LOAD_BFLOAT16 = """\
float tj_load_bfloat16(int bits) { return as_float(bits << 16); }
"""
STORE_BFLOAT16 = """\
int tj_store_bfloat16(float x) {
  const int bits = as_int(x), is_odd = bits >> 16 & 1;
  return (x != x ? bits >> 16 | 64 : (bits + 0x7fff + is_odd) >> 16) & 0xffff;
}
"""
ROUND_BFLOAT16 = """\
float tj_round_bfloat16(float x) {
  const int bits = as_int(x), is_odd = bits >> 16 & 1;
  return x != x ? x : as_float((bits + 0x7fff + is_odd) & (int)0xffff0000);
}
"""
FUNCTIONS = (
    LOAD_FLOAT16, STORE_FLOAT16, ROUND_FLOAT16, LOAD_BFLOAT16, STORE_BFLOAT16, ROUND_BFLOAT16
)  # fmt: skip

# each C function by its name, without tj_
BY_NAME = {text.split("tj_")[1].split("(")[0]: text for text in FUNCTIONS}
