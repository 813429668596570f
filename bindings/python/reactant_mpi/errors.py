"""The exception of this package."""

from . import _abi


class ReactantMPIError(RuntimeError):
    """A call failed.

    code  the result code of the C library, as in reactant_mpi.h (checks made in Python use the same codes)
    name  its name, as "ERR_COMM"
    text  what happened, where, and what to do
    """

    def __init__(self, code: int, text: str):
        super().__init__(code, text)
        self.code = code
        self.text = text

    @property
    def name(self) -> str:
        """Name of the code, as "ERR_COMM"."""
        return _abi.RESULT_NAMES.get(self.code, "unknown code")

    def __str__(self) -> str:
        return f"{self.text} ({self.name}, code {self.code})"
