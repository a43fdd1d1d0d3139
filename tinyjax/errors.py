"""`jax.errors`: the names; they are made in core/errors.py."""

from tinyjax.core.errors import ConcretizationTypeError as ConcretizationTypeError
from tinyjax.core.errors import JAXIndexError as JAXIndexError
from tinyjax.core.errors import JAXTypeError as JAXTypeError
from tinyjax.core.errors import TracerArrayConversionError as TracerArrayConversionError
from tinyjax.core.errors import TracerBoolConversionError as TracerBoolConversionError
from tinyjax.core.errors import TracerIntegerConversionError as TracerIntegerConversionError
from tinyjax.core.errors import UnexpectedTracerError as UnexpectedTracerError
from tinyjax.core.key_reuse import KeyReuseError as KeyReuseError
from tinyjax.core.runtime_errors import JaxRuntimeError as JaxRuntimeError
from tinyjax.core.shape_errors import NonConcreteBooleanIndexError as NonConcreteBooleanIndexError
