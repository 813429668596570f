"""The version of this package, equal to that of the C library it was made for."""

from . import _abi

__version__ = f"{_abi.VERSION_MAJOR}.{_abi.VERSION_MINOR}.{_abi.VERSION_PATCH}"
