"""`jax.nn`: building blocks of networks. This file only re-exports.

Source: https://docs.jax.dev/en/latest/jax.nn.html
"""

# ruff: noqa: F401
# ruff: isort: skip_file
# fmt: off

from tinyjax.nn import initializers
from tinyjax.nn.activations import (
    celu, elu, gelu, glu, hard_sigmoid, hard_silu, hard_swish, hard_tanh, identity, leaky_relu,
    log1mexp, log_sigmoid, mish, relu, relu6, selu, sigmoid, silu, soft_sign, softplus, sparse_plus,
    sparse_sigmoid, squareplus, swish,
)
from tinyjax.nn.functions import logmeanexp, one_hot, standardize
from tinyjax.numpy import tanh
from tinyjax.numpy.log_sums import log_softmax, logsumexp, softmax

# Imported when it is first asked for.
_LAZY_NAMES = {"attention": ("dot_product_attention",)}
