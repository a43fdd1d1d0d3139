"""Which JAX this is: the version whose names, semantics and numbers tinyjax has.

`tinyjax.__version__` is the version of tinyjax itself. A program that says `import jax` compares
`jax.__version__` to know which names there are: as_jax makes it this one.
"""

__version__ = "0.12.0.1"
__version_info__ = tuple(map(int, __version__.split(".")))
