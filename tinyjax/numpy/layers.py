"""The order to read numpy/ in: a file uses only the files before it, and lax.

tests/numpy/test_layers.py reads the imports and fails on one that points back. A new function goes into
the layer after the functions that it uses.
"""

LAYERS = {
    "operands": "util promotion declarations dtype_tools selecting placing",
    "elementwise": "logic ufuncs elementary sinc_function rounding gcd_lcm",
    "creation": "creation scalar_types ranges",
    "indexing": "slices index_parts gather_plan indexing at",
    "shaping": "manipulation joining grids",
    "reducing, sorting, searching": (
        "reductions averages quantiles cumulative sorting sorted_search searching nan_reductions bits"
    ),
    "choosing and changing elements": "taking choosing editing setops triangles",
    "a function over axes": "mapping padding",
    "products": "contraction_order contraction linear_algebra convolution",
    "composites": "polynomial statistics kaiser_window fft log_sums ravel_pytree dlpack",
    "linear algebra": (
        "linalg.decompositions linalg.solving linalg.norms_and_products linalg.determinants "
        "linalg.least_squares fitting"
    ),
    "methods": "array_api ufunc_methods array_methods",
}
