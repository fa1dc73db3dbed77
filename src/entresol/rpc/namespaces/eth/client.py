"""`eth_` methods about the node and the chain, and `eth_config` (EIP-7910)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from entresol.chain.blob_fees import BLOB_SCHEDULES
from entresol.execution.block_executor import BEACON_ROOTS, HISTORY_STORAGE
from entresol.l1.deployment import PROTOCOL_VERSION
from entresol.primitives.values import Address, Data, Quantity
from entresol.rpc.jsonrpc.method import Order, ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.chain.rules import ChainRules


class EthClient:
    """The node as a client of its network."""

    prefix = "eth"

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    @method(cached=True, served_by=ServedBy.REPLICA)
    def chain_id(self) -> Quantity:
        """Return the chain id."""
        return Quantity(self._chain.rules.chain_id)

    @method(cached=True, served_by=ServedBy.REPLICA)
    def network_id(self) -> str:
        """Return the network id; an alias of `net_version`."""
        return str(self._chain.rules.chain_id)

    @method(getter=True, order=Order.LAST, served_by=ServedBy.REPLICA)
    def block_number(self) -> Quantity:
        """Return the number of the latest block; in a batch, after all its other calls.

        Clients send it in one batch with a transaction, and wait for the blocks after this one.
        """
        return Quantity(self._chain.number)

    @method(cached=True, served_by=ServedBy.REPLICA)
    def syncing(self) -> Literal[False]:
        """Return the sync status: false, because the node has every block."""
        return False

    @method(getter=True, served_by=ServedBy.REPLICA)
    def coinbase(self) -> Address:
        """Return the coinbase address, which receives the priority fees."""
        return self._chain.beneficiary

    @method(cached=True, served_by=ServedBy.REPLICA)
    def mining(self) -> bool:
        """Return whether the node mines: false, because blocks are sealed."""
        return False

    @method(cached=True, served_by=ServedBy.REPLICA)
    def hashrate(self) -> Quantity:
        """Return the hash rate: zero, because blocks are sealed, not mined."""
        return Quantity(0)

    @method(cached=True, served_by=ServedBy.REPLICA)
    def protocol_version(self) -> str:
        """Return the protocol version, as a ZK Stack node names it."""
        major, minor, patch = PROTOCOL_VERSION
        return f"zks/{major}.{minor}.{patch}"


_PRECOMPILES: Final = (
    "ECREC", "SHA256", "RIPEMD160", "ID", "MODEXP", "BN254_ADD", "BN254_MUL", "BN254_PAIRING",
    "BLAKE2F", "KZG_POINT_EVALUATION", "BLS12_G1ADD", "BLS12_G1MSM", "BLS12_G2ADD",
    "BLS12_G2MSM", "BLS12_PAIRING_CHECK", "BLS12_MAP_FP_TO_G1", "BLS12_MAP_FP2_TO_G2",
)  # fmt: skip
_NAMES: Final = {**dict(enumerate(_PRECOMPILES, start=1)), 0x100: "P256VERIFY"}

_NO_FORK_ID: Final = Data(bytes(4))
"""As in anvil: the checksum over forks has no meaning on a chain that has had all of them since genesis."""


class BlobParameters(JsonModel, frozen=True, kw_only=True):
    """How many blobs a block has, and how their price moves."""

    base_fee_update_fraction: Annotated[int, says("The larger, the slower their price moves.")]
    max: Annotated[int, says("The most blobs of a block.")]
    target: Annotated[int, says("The number of blobs at which their price stays.")]


class ForkParameters(JsonModel, frozen=True, kw_only=True):
    """The parameters of a fork."""

    activation_time: Annotated[int, says("When the fork became active, in seconds since 1970.")]
    blob_schedule: Annotated[BlobParameters | None, says("Limits of blobs; null before Cancun.")]
    chain_id: Annotated[Quantity, says("The chain id.")]
    fork_id: Annotated[Data, says("The fork id (EIP-2124).")]
    precompiles: Annotated[dict[str, Address], says("The precompiled contracts, by name.")]
    system_contracts: Annotated[
        dict[str, Address], says("The contracts that the protocol itself calls, by name.")
    ]


class ChainParameters(JsonModel, frozen=True, kw_only=True):
    """The fork of the chain, and the next and the last one that are scheduled: none."""

    current: Annotated[ForkParameters, says("The parameters that hold now.")]
    next: Annotated[None, says("The next scheduled fork: none.")] = None
    last: Annotated[None, says("The last scheduled fork: none.")] = None


class EthConfig:
    """The method `eth_config`."""

    prefix = "eth"

    def __init__(self, rules: ChainRules) -> None:
        self._rules = rules

    @method(cached=True, served_by=ServedBy.REPLICA)
    def config(self) -> ChainParameters:
        """Return the parameters of the chain's fork (EIP-7910).

        Listed are the system contracts that blocks call: none on an L2.
        """
        rules, blobs = self._rules, BLOB_SCHEDULES.get(self._rules.fork)
        addresses = sorted(map(Address, rules.evm_rules().precompiles))
        named = {_NAMES.get(int.from_bytes(address)): address for address in addresses}
        current = ForkParameters(
            activation_time=0,
            blob_schedule=None if blobs is None else BlobParameters(**blobs._asdict()),
            chain_id=Quantity(rules.chain_id),
            fork_id=_NO_FORK_ID,
            precompiles={name: named[name] for name in sorted(filter(None, named))},
            system_contracts=_system_contracts(rules),
        )
        return ChainParameters(current=current)


def _system_contracts(rules: ChainRules) -> dict[str, Address]:
    fields = rules.blob_fees().fork_fields(None)
    called = {
        "BEACON_ROOTS_ADDRESS": (BEACON_ROOTS, fields.parent_beacon_block_root),
        "HISTORY_STORAGE_ADDRESS": (HISTORY_STORAGE, fields.requests_hash),
    }
    return {name: address for name, (address, field) in called.items() if field is not None}
