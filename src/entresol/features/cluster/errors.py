"""Errors of a cluster: its database, its log, its producer."""

from __future__ import annotations

from entresol.errors.base import EntresolError


class ClusterFailed(EntresolError):
    """The cluster cannot be used."""

    # A client that settles on request has to know why it does not work.
    rpc_code = -32000


class ClusterUnreachable(ClusterFailed):
    """The database of the cluster cannot be reached, or did not respond in time; a retry may help."""

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(f"the cluster's database at {url} cannot be reached: {problem}")
        self.url = url
        self.problem = problem


class ClusterFenced(ClusterFailed):
    """Another node has taken over, so nothing was written."""

    def __init__(self, epoch: int) -> None:
        super().__init__(f"another node produces blocks since epoch {epoch} ended")
        self.epoch = epoch


class OutcomeUnknown(ClusterFailed):
    """The connection broke during a write, which may or may not be in the log."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"a write to the cluster's log has an unknown outcome: {problem}")
        self.problem = problem


class LogTailLost(ClusterFailed):
    """The log ends before what this node has applied, or has something else there."""

    def __init__(self, seq: int, last: int) -> None:
        super().__init__(
            f"this node has applied entry {seq} of the cluster's log, and the log has another one or ends at {last}: "
            "a server was promoted that had lost the end of the log; restore the log, or start this node with an "
            "empty --data-dir to accept the loss"
        )
        self.seq = seq
        self.last = last


class LogTruncated(ClusterFailed):
    """The entries that this node needs next are no longer in the log."""

    def __init__(self, seq: int, first: int) -> None:
        super().__init__(
            f"the cluster's log begins with entry {first}, and this node needs entry {seq}: start from a copy that "
            "entresol backup makes of another node's --data-dir"
        )
        self.seq = seq
        self.first = first


class LogDamaged(ClusterFailed):
    """An entry of the log does not have the digest that its contents have."""

    def __init__(self, seq: int, problem: str) -> None:
        super().__init__(f"entry {seq} of the cluster's log is damaged: {problem}")
        self.seq = seq


class DepositsNotNext(ClusterFailed):
    """A block has deposits that do not continue those of the chain."""

    def __init__(self, block: int, first: int, expected: int) -> None:
        super().__init__(
            f"block {block} begins with deposit {first}, and the next one is deposit {expected}"
        )
        self.block = block
