"""Errors of a fork: what fails at the remote chain, at its cache, and what a fork cannot serve.

Each names the remote by scheme, host and port, and the method; a key in its URL or headers is in none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.errors.base import EntresolError
from entresol.errors.execution import RemoteFailed

if TYPE_CHECKING:
    from pathlib import Path


class RemoteUnreachable(RemoteFailed):
    """The remote cannot be reached, or does not respond as a server should; a retry may help."""

    def __init__(self, host: str, method: str, problem: str) -> None:
        super().__init__(f"the remote {host} cannot be asked for {method}: {problem}")
        self.host = host
        self.method = method
        self.problem = problem


class RemoteRejected(RemoteFailed):
    """The remote responded with an error; its text is not repeated of a remote that a client named."""

    def __init__(
        self, host: str, method: str, code: int, message: str, *, is_quoted: bool = True
    ) -> None:
        self.shown = f"{message} (code {code})" if is_quoted else f"code {code}"
        super().__init__(f"the remote {host} rejected {method}: {self.shown}")
        self.host = host
        self.method = method
        self.code = code
        self.message = message


class RemoteMalformed(RemoteFailed):
    """The remote responded with something that the method cannot have as its result."""

    def __init__(self, host: str, method: str, problem: str) -> None:
        super().__init__(f"the remote {host} responded to {method} with a wrong result: {problem}")
        self.host = host
        self.method = method
        self.problem = problem


class RemoteLied(RemoteFailed):
    """The remote's response is not in the block that it was asked about (`--fork-verify`)."""

    def __init__(self, host: str, method: str, problem: str) -> None:
        super().__init__(f"the remote {host} responded to {method} with a false result: {problem}")
        self.host = host
        self.method = method
        self.problem = problem


class AnchorLost(RemoteFailed):
    """The block that the fork stands on is no longer in the remote chain: what was not read before is gone."""

    def __init__(self, host: str, number: int, expected: object, found: object = None) -> None:
        now = "has no such block" if found is None else f"has {found} there"
        super().__init__(
            f"block {number} of the fork, {expected}, was orphaned: the remote {host} {now}. What was read of it is "
            "served; for the rest, fork a block that is final"
        )
        self.host = host
        self.number = number
        self.expected = expected
        self.found = found


class NoArchive(RemoteFailed):
    """The remote has no state of a block any more."""

    def __init__(self, host: str, number: int) -> None:
        super().__init__(
            f"the remote {host} has no state of block {number}: it is not an archive node; pin a newer block "
            "(--fork-block-number), or ask another one (--fork-url)"
        )
        self.host = host
        self.number = number


class NotRecorded(RemoteFailed):
    """Something is not in the cache, and without a network it cannot be asked for."""

    def __init__(self, what: str, command: str) -> None:
        super().__init__(
            f"{what} is not in the cache of the fork: record it with `{command}` and the same requests"
        )
        self.what = what
        self.command = command


class AnchorMismatch(RemoteFailed):
    """The remote, or the block, is not the one that the fork was made of, or that was asked for."""

    def __init__(self, what: str, expected: object, found: object) -> None:
        super().__init__(f"{what} is {found}, and {expected} is expected")
        self.what = what
        self.expected = expected
        self.found = found


class AnchorNotFound(RemoteFailed):
    """The remote has no block as was asked for to fork from."""

    def __init__(self, host: str, what: str) -> None:
        super().__init__(f"the remote {host} has no {what} to fork from")
        self.host = host
        self.what = what


class Unprovable(RemoteFailed):
    """The requested value may be true, but nothing that the remote has proves it (`--fork-verify`)."""

    def __init__(self, method: str, reason: str) -> None:
        super().__init__(f"--fork-verify: {method} cannot be proven: {reason}")
        self.method = method
        self.reason = reason


class NotCovered(RemoteFailed):
    """A method needs all of the state, and a fork has only what it changed."""

    def __init__(self, method: str, reason: str) -> None:
        super().__init__(f"{method} is not served on a fork: {reason}")
        self.method = method
        self.reason = reason


class ForkCacheFailed(EntresolError):
    """The cache of a fork cannot be used."""

    rpc_code = -32000


class ForkCacheUnusable(ForkCacheFailed):
    """The file system does not let the cache of a fork be opened or written."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            f"the fork cache {path} cannot be used: {problem}; choose another (--fork-cache)"
        )
        self.path = path
        self.problem = problem


class ForkCacheDamaged(ForkCacheFailed):
    """The file of a fork's cache is corrupted, or another program's."""

    def __init__(self, path: Path, detail: str) -> None:
        super().__init__(
            f"the fork cache {path} is damaged ({detail}): delete it, and what it held is read from the remote again"
        )
        self.path = path
        self.detail = detail


class ForkCacheMismatch(ForkCacheFailed):
    """The cache holds another fork than the one that is opened."""

    def __init__(self, path: Path, found: str, expected: str) -> None:
        super().__init__(
            f"the fork cache {path} holds {found}, not {expected}: fork that block "
            "(--fork-block-number), or choose another file (--fork-cache)"
        )
        self.path = path
        self.found = found
        self.expected = expected


class ForkCacheConflict(ForkCacheFailed):
    """A value that never changes is another one than the cache has."""

    def __init__(self, name: str, cached: str, given: str) -> None:
        super().__init__(
            f"{name} is {cached} in the fork cache, and now it is {given}: the remote, or the file, is wrong; "
            "--fork-verify tells which, and `entresol cache clear` deletes the file"
        )
        self.name = name
        self.cached = cached
        self.given = given
