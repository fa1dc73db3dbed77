"""The target of a reset, as clients name it: a block of a remote chain, or the own genesis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from entresol.errors import ControlRejected, MalformedValue
from entresol.primitives.values import Hash32
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.types.number import Number

MAX_URL_LENGTH = 8192


class ForkTarget(NamedTuple):
    """A block of a remote chain; the last URL if there is none, and the latest block if there is no number."""

    url: str | None = None
    block: int | None = None


class ResetOptions:
    """The target of a reset: `{forking: {jsonRpcUrl, blockNumber}}`, or what is within it."""

    json_schema: ClassVar[dict[str, Any]] = {"type": "object"}

    def __init__(self, target: ForkTarget | None, *, is_named: bool) -> None:
        self.target = target
        """None if there is nothing about forking."""
        self.is_named = is_named
        """Whether `forking` is there, even if it is empty."""

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read an object; `forking` may be null or false."""
        if not isinstance(value, dict):
            raise MalformedValue("should be an object")
        inner = value.get("forking", value)
        if inner is None or inner is False:
            return cls(None, is_named=False)
        if not isinstance(inner, dict):
            raise MalformedValue("`forking` should be an object")
        url, block = inner.get("jsonRpcUrl"), inner.get("blockNumber")
        if url is not None and (not isinstance(url, str) or len(url) > MAX_URL_LENGTH):
            raise MalformedValue("`jsonRpcUrl` should be a URL")
        number = None if block is None else int(Number.parse(block))
        is_named = "forking" in value
        if url is None and number is None and not is_named:
            return cls(None, is_named=False)
        return cls(ForkTarget(url, number), is_named=is_named)


class NodeForkConfig(JsonModel, frozen=True, kw_only=True):
    """The remote that the chain is a fork of; of the URL scheme, host and port. All null if it is not a fork."""

    fork_url: Annotated[
        str | None, says("Scheme, host and port of the remote; null if it is not a fork.")
    ] = None
    fork_block_number: Annotated[
        int | None, says("The number of the block that a fork stands on; null if it is not a fork.")
    ] = None
    fork_retry_backoff: Annotated[
        int | None,
        says(
            "Milliseconds before a request to the remote is tried again; null if it is not a fork."
        ),
    ] = None


class ForkedNetwork(JsonModel, frozen=True, kw_only=True):
    """The chain and the block that a fork stands on."""

    chain_id: Annotated[int, says("The chain id.")]
    fork_block_number: Annotated[
        int, says("The number of the block that a fork stands on; null if it is not a fork.")
    ]
    fork_block_hash: Annotated[Hash32, says("The hash of the block that the fork stands on.")]


class ForkControl:
    """The control of forks that a node gives to methods; this is that of a chain that is not a fork and stays so."""

    @property
    def is_fork(self) -> bool:
        """Whether the chain is a fork."""
        return False

    @property
    def network(self) -> ForkedNetwork | None:
        """The block that the chain stands on; None if it is not a fork."""
        return None

    @property
    def config(self) -> NodeForkConfig:
        """Where it reads."""
        return NodeForkConfig()

    async def reset(self, target: ForkTarget | None) -> None:
        """Stand on another block, with nothing above it; None ends the fork."""
        if target is not None and (target.url is not None or target.block is not None):
            raise ControlRejected("`forking` is not supported: the node cannot replace this chain")
        raise MalformedValue("Forking not enabled and RPC URL not provided to start forking")

    async def set_url(self, url: str) -> None:
        """Read from another URL of the same chain; nothing where there is no fork."""


class ForkPages(NamedTuple):
    """The remotes of the forks of a chain and of its L1, as the explorer shows them."""

    page: Callable[[], dict[str, Any]]
    """Returns what there is to show, by the name of the layer."""
