"""The protocol version and the genesis of an L2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Raw

from entresol.l1.deployment import PROTOCOL_VERSION
from entresol.offload import Offload
from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.jsonrpc.codec import encode
from entresol.rpc.jsonrpc.method import ServedBy, method
from entresol.rpc.jsonrpc.model import says
from entresol.rpc.namespaces.zks.batches import NO_SYSTEM_CODE, BaseSystemContractsHashes
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol.chain.genesis.genesis import Genesis
    from entresol.storage.store_view import StoreView

_NONE = Hash32.zero()
EXECUTION_VERSION = 1


class VerificationKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Verification keys of proofs that this chain does not make; zksync-era uses snake case here."""

    recursion_scheduler_level_vk_hash: Annotated[
        Hash32, says("The key that verifies the proofs of batches.")
    ]
    fflonk_snark_wrapper_vk_hash: Annotated[
        Hash32 | None, says("The key of the other wrapper: there is none.")
    ] = None


class ProtocolVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A protocol version; zksync-era has some keys in camel case, some in snake case, some in both."""

    version_id: Annotated[int, says("The version.")]
    minor_version: Annotated[int, says("The version.")] = msgspec.field(name="minorVersion")
    timestamp: Annotated[int, says("When it became active, in seconds since 1970.")]
    verification_keys_hashes: Annotated[
        VerificationKeys, says("The hashes of the keys that verify proofs.")
    ]
    base_system_contracts: Annotated[
        BaseSystemContractsHashes, says("The hashes of the system contracts' code.")
    ]
    bootloader_code_hash: Annotated[Hash32, says("0: there is no bootloader.")] = msgspec.field(
        name="bootloaderCodeHash"
    )
    default_account_code_hash: Annotated[
        Hash32, says("0: accounts without code have no default one.")
    ] = msgspec.field(name="defaultAccountCodeHash")
    evm_simulator_code_hash: Annotated[Hash32 | None, says("Null: the EVM is not emulated.")] = (
        msgspec.field(name="evmSimulatorCodeHash", default=None)
    )
    l2_system_upgrade_tx_hash: Annotated[
        Hash32 | None, says("The transaction that upgraded the system: none.")
    ] = None
    l2_upgrade: Annotated[
        Hash32 | None, says("The transaction that upgraded the system: none.")
    ] = msgspec.field(name="l2SystemUpgradeTxHash", default=None)


class FundedAccount(msgspec.Struct, frozen=True, kw_only=True):
    """Balance and nonce of an account in genesis."""

    balance: Annotated[Quantity, says("The balance in wei.")]
    nonce: Annotated[Quantity, says("How many transactions it sent, or contracts it created.")]


class GenesisInput(msgspec.Struct, frozen=True, kw_only=True):
    """The genesis of a chain; zksync-os uses snake case here.

    Code and storage by address, and the state root of the genesis block. `initial_accounts` is this node's own:
    balances and nonces, without which the root could not be computed.
    """

    initial_contracts: Annotated[list[tuple[Address, Data]], says("The contracts and their code.")]
    additional_storage: Annotated[
        dict[str, dict[str, Hash32]],
        says("Slots of contracts that are set without a transaction, by address."),
    ]
    initial_accounts: Annotated[
        dict[str, FundedAccount], says("The accounts that have ether, by address.")
    ]
    execution_version: Annotated[int, says("The version of the execution.")] = EXECUTION_VERSION
    genesis_root: Annotated[Hash32, says("The root of the state of the genesis.")]


class ZksProtocol:
    """`zks_` methods about the protocol, which is never upgraded.

    Remembers: the encoded genesis, once it was requested.
    """

    prefix = "zks"

    def __init__(self, blocks: StoreView, genesis: Genesis) -> None:
        self._blocks = blocks
        self._genesis = genesis
        self._encoded_genesis: Raw | None = None

    @method(served_by=ServedBy.REPLICA)
    def get_protocol_version(self, version_id: Number | None = None) -> ProtocolVersion | None:
        """Return the protocol version, or null for any but the current one."""
        minor = PROTOCOL_VERSION[1]
        if version_id not in (None, minor):
            return None
        return ProtocolVersion(
            verification_keys_hashes=VerificationKeys(recursion_scheduler_level_vk_hash=_NONE),
            base_system_contracts=NO_SYSTEM_CODE,
            bootloader_code_hash=_NONE,
            default_account_code_hash=_NONE,
            version_id=minor,
            minor_version=minor,
            timestamp=self._genesis.timestamp,
        )

    @method(served_by=ServedBy.REPLICA)
    def get_genesis(self) -> Annotated[Raw, GenesisInput] | Offload[Raw]:
        """Return the genesis: contracts, their storage, balances and the state root."""
        encoded = self._encoded_genesis
        return Offload(self._encode_genesis) if encoded is None else encoded

    def _encode_genesis(self) -> Raw:
        self._encoded_genesis = Raw(encode(self._genesis_input()))
        return self._encoded_genesis

    def _genesis_input(self) -> GenesisInput:
        alloc = {address: self._genesis.alloc[address] for address in sorted(self._genesis.alloc)}
        return GenesisInput(
            initial_contracts=[
                (address, Data(account.code)) for address, account in alloc.items() if account.code
            ],
            additional_storage={
                str(address): {str(slot): account.storage[slot] for slot in sorted(account.storage)}
                for address, account in alloc.items()
                if account.storage
            },
            initial_accounts={
                str(address): FundedAccount(
                    balance=Quantity(account.balance), nonce=Quantity(account.nonce)
                )
                for address, account in alloc.items()
            },
            genesis_root=self._blocks.header(self._blocks.first_number).state_root,
        )
