"""Errors of a derivation: published data from which the chain does not follow."""

from __future__ import annotations

from entresol.errors.base import INTERNAL, EntresolError


class UnderivableBlock(EntresolError):
    """Published data from which no block follows: `field` says which part of it."""

    rpc_code = INTERNAL

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class DerivationAlarm(EntresolError):
    """The published data of a batch does not give what L1 says of it; the chain stays at the batch before."""

    rpc_code = INTERNAL

    def __init__(self, batch: int, field: str, expected: object, found: object) -> None:
        super().__init__(f"batch {batch}, {field}: {self._text(expected, found)}")
        self.batch = batch
        self.field = field
        self.expected = str(expected)
        """The value on L1."""
        self.found = str(found)
        """The value found here."""

    def _text(self, expected: object, found: object) -> str:
        return f"{expected} on L1, {found} here"


class UnderivableBatch(DerivationAlarm):
    """Data of a batch that cannot be read or executed."""

    def _text(self, expected: object, found: object) -> str:
        return f"{found}; L1 has {expected}"


class EditsUnavailable(EntresolError):
    """A node does not have the edits of a block of which L1 has only the hash, or says something else."""

    rpc_code = INTERNAL

    def __init__(self, block: int, source: str, problem: str) -> None:
        super().__init__(f"the edits of block {block} are not at {source}: {problem}")
        self.block = block
        self.problem = problem


class SnapshotRejected(EntresolError):
    """A snapshot does not have the batch that L1 has executed, or L1 has not executed the batch."""

    rpc_code = INTERNAL

    def __init__(self, batch: int, snapshot: str, problem: str) -> None:
        super().__init__(f"batch {batch} is not accepted from {snapshot}: {problem}")
        self.batch = batch
        self.problem = problem
