"""What a receive got."""

import numpy as np

from . import _abi
from .errors import ReactantMPIError


class Status(_abi.Status):
    """What a receive got: .source, .tag, .bytes. Give one to Recv, Sendrecv, Probe, Wait, ..., then read it."""

    def Get_source(self) -> int:
        """Rank of the sender."""
        return self.source

    def Get_tag(self) -> int:
        """Tag of the message."""
        return self.tag

    def Get_count(self, dtype=np.uint8) -> int:
        """Number of elements of `dtype` received. Raises code 3 if the message is no whole number of them."""
        dtype = np.dtype(dtype)
        count, rest = divmod(self.bytes, dtype.itemsize)
        if rest:
            raise ReactantMPIError(_abi.ERR_TYPE, f"the message of {self.bytes} bytes is no whole number of {dtype}")
        return count

    def __repr__(self) -> str:
        return f"Status(source={self.source}, tag={self.tag}, bytes={self.bytes})"


def checked(status: Status | None) -> Status | None:
    """The status, which is one."""
    if status is not None and not isinstance(status, Status):
        raise ReactantMPIError(_abi.ERR_ARGUMENT, f"status must be a reactant_mpi.Status, not {status!r:.60}")
    return status
