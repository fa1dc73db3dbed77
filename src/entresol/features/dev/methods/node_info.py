"""The node as developers' tools query it: `anvil_nodeInfo`, `anvil_metadata` and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, UnsetType

from entresol.errors import ControlRejected, ForeignOrigin, RemoteFailed
from entresol.primitives.values import Data, Hash32, Quantity
from entresol.rpc.jsonrpc.method import Past, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.types.block_id import TransactionHash
from entresol.rpc.types.fork_target import ForkedNetwork, NodeForkConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.chain.chain import Chain
    from entresol.features.dev.reverts import Checkpoints
    from entresol.rpc.types.fork_target import ForkControl


class NodeEnvironment(JsonModel, frozen=True, kw_only=True):
    """The prices and limits of the next block."""

    base_fee: Annotated[Quantity, says("The base fee per gas.")]
    chain_id: Annotated[int, says("The chain id.")]
    gas_limit: Annotated[Quantity, says("The most gas that it may use.")]
    gas_price: Annotated[Quantity, says("The price of a unit of gas.")]


class AnvilNodeInfo(JsonModel, frozen=True, kw_only=True):
    """The result of `anvil_nodeInfo`."""

    current_block_number: Annotated[Quantity, says("The number of the latest block.")]
    current_block_timestamp: Annotated[int, says("Its time, in seconds since 1970.")]
    current_block_hash: Annotated[Hash32, says("The hash of the latest block.")]
    hard_fork: Annotated[str, says("The fork of the EVM.")]
    transaction_order: Annotated[str, says("In which order the pool lists its transactions.")]
    environment: Annotated[NodeEnvironment, says("The parameters of the next block.")]
    fork_config: Annotated[NodeForkConfig, says("What the chain is a fork of.")]


class HardhatMetadata(JsonModel, frozen=True, kw_only=True):
    """The result of `hardhat_metadata`."""

    client_version: Annotated[str, says("The name and the version of the node.")]
    chain_id: Annotated[int, says("The chain id.")]
    instance_id: Annotated[Hash32, says("A random number, which a new chain changes.")]
    latest_block_number: Annotated[int, says("The number of the latest block.")]
    latest_block_hash: Annotated[Hash32, says("The hash of the latest block.")]
    forked_network: Annotated[
        ForkedNetwork | UnsetType | None,
        says("The chain and the block that the chain is a fork of; null if it is none."),
    ] = UNSET
    """Only a fork has it in Hardhat; in anvil it is null otherwise."""


class AnvilMetadata(HardhatMetadata, frozen=True, kw_only=True):
    """The result of `anvil_metadata`; `snapshots` are the block of each snapshot, by its id."""

    client_semver: Annotated[str, says("The version of the node.")]
    client_commit_sha: Annotated[
        str | None, says("The commit that the node was built from; null if it is unknown.")
    ] = None
    snapshots: Annotated[
        dict[str, tuple[int, Hash32]],
        says("The block number and the hash of each snapshot, by its id."),
    ]


class AnvilNode:
    """The node as anvil describes itself."""

    prefix = "anvil"

    def __init__(
        self,
        chain: Chain,
        checkpoints: Checkpoints,
        client_version: str,
        set_logging: Callable[[bool], None],
        forks: ForkControl,
    ) -> None:
        self._forks = forks
        self._chain = chain
        self._checkpoints = checkpoints
        self._client_version = client_version
        self._set_logging = set_logging

    @method()
    def node_info(self) -> AnvilNodeInfo:
        """Return the head, the fork, the transaction order and the prices of the next block."""
        chain, settings = self._chain, self._chain.settings
        limit = chain.rules.gas_limit if settings.gas_limit is None else settings.gas_limit
        base_fee = chain.next_base_fee()
        return AnvilNodeInfo(
            current_block_number=Quantity(chain.number),
            current_block_timestamp=chain.head.timestamp,
            current_block_hash=chain.ledger.head_hash,
            hard_fork=chain.rules.fork.capitalize(),
            transaction_order=chain.pool.config.order,
            environment=NodeEnvironment(
                base_fee=Quantity(base_fee),
                chain_id=chain.rules.chain_id,
                gas_limit=Quantity(limit),
                gas_price=Quantity(base_fee + chain.rules.suggested_tip),
            ),
            fork_config=self._forks.config,
        )

    @method()
    def metadata(self) -> AnvilMetadata:
        """Return the client version, the head, the snapshots, and an id that each start of the node renews."""
        chain = self._chain
        blocks = self._checkpoints.blocks(chain)
        hashes = {number: chain.blocks.block_hash(number) for number in set(blocks.values())}
        return AnvilMetadata(
            client_version=self._client_version,
            client_semver=self._client_version.rpartition("/v")[2],
            chain_id=chain.rules.chain_id,
            instance_id=chain.instance_id,
            latest_block_number=chain.number,
            latest_block_hash=chain.ledger.head_hash,
            forked_network=self._forks.network,
            snapshots={
                hex(snapshot): (number, found)
                for snapshot, number in blocks.items()
                if (found := hashes[number]) is not None
            },
        )

    @method()
    def set_logging_enabled(self, enabled: bool) -> None:
        """Enable or disable the log of requests and transactions."""
        self._set_logging(enabled)

    @method()
    def get_genesis_time(self) -> int:
        """Return the timestamp of the genesis block."""
        return self._chain.blocks.header(self._chain.ledger.first).timestamp

    @method(*(ControlRejected, ForeignOrigin, RemoteFailed))
    async def set_rpc_url(self, url: str) -> None:
        """Set where a fork reads, which has to be the same chain; nothing happens to a chain that is not a fork."""
        await self._forks.set_url(url)

    @method(past=Past.LOCAL)
    def get_blob_by_hash(self, hash: Hash32) -> Data | None:
        """Return a blob of a sealed transaction by its versioned hash.

        The node has the last blobs, up to 128 MiB, and none from before it was started. An L2 has none.
        """
        blob = self._chain.sidecars.blob(hash)
        return None if blob is None else Data(blob)

    @method(past=Past.LOCAL)
    def get_blobs_by_transaction_hash(self, hash: TransactionHash) -> list[Data] | None:
        """Return the blobs of a sealed transaction by its hash; null if it has none, or the node has not."""
        sidecar = self._chain.sidecars.get(hash)
        return None if sidecar is None else [Data(blob) for blob in sidecar.blobs]


class HardhatNode:
    """The node as Hardhat describes itself."""

    prefix = "hardhat"

    def __init__(
        self,
        chain: Chain,
        client_version: str,
        set_logging: Callable[[bool], None],
        forks: ForkControl,
    ) -> None:
        self._forks = forks
        self._chain = chain
        self._client_version = client_version
        self._set_logging = set_logging

    @method()
    def metadata(self) -> HardhatMetadata:
        """Return the client version, the head, and an id that each start of the node renews."""
        return HardhatMetadata(
            client_version=self._client_version,
            chain_id=self._chain.rules.chain_id,
            instance_id=self._chain.instance_id,
            latest_block_number=self._chain.number,
            latest_block_hash=self._chain.ledger.head_hash,
            forked_network=UNSET if self._forks.network is None else self._forks.network,
        )

    @method()
    def set_logging_enabled(self, enabled: bool) -> bool:
        """Enable or disable the log of requests and transactions."""
        self._set_logging(enabled)
        return True

    @method()
    def get_stack_trace_failures_count(self) -> int:
        """Return how many stack traces could not be made: none, because such a failure has an error of its own."""
        return 0
