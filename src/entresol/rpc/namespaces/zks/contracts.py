"""`zks_` methods about contracts and published code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Raw

from entresol._native import byte_array_json
from entresol.cache_limits import CACHES
from entresol.offload import Offload
from entresol.primitives.base_token import ETH_TOKEN
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.values import Address, Hash32, Quantity
from entresol.rpc.jsonrpc.method import Past, ServedBy, method
from entresol.rpc.jsonrpc.model import ByteArray, JsonModel, says

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.l1.deployment import SettlementContracts
    from entresol.storage.store_view import StoreView


_NONE = Address.zero()


class L2Contracts(msgspec.Struct, frozen=True, kw_only=True):
    """The contracts on L2 that clients look up."""

    asset_router: Address
    multicall: Address
    testnet_paymaster: Address | None = None
    base_token: Address = ETH_TOKEN
    """The L1 address of what pays for gas."""


class BridgeContracts(JsonModel, frozen=True, kw_only=True):
    """The bridges of both layers; clients want an address for each, zero where there is none."""

    l1_erc20_default_bridge: Annotated[Address, says("The bridge of tokens on L1.")] = (
        msgspec.field(name="l1Erc20DefaultBridge")
    )
    l2_erc20_default_bridge: Annotated[Address, says("The bridge of tokens on L2.")] = (
        msgspec.field(name="l2Erc20DefaultBridge")
    )
    l1_shared_default_bridge: Annotated[Address, says("The bridge of all chains on L1.")]
    l2_shared_default_bridge: Annotated[Address, says("The bridge of all chains on L2.")]
    l1_weth_bridge: Annotated[Address, says("0: wrapped ether has no bridge.")]
    l2_weth_bridge: Annotated[Address, says("0: wrapped ether has no bridge.")]
    l2_legacy_shared_bridge: Annotated[Address, says("The bridge on L2, under an earlier name.")]
    l1_nullifier: Annotated[
        Address, says("The contract on L1 that knows which withdrawals were claimed.")
    ]
    l1_native_token_vault: Annotated[Address, says("The contract on L1 that holds tokens.")]


class ZksContracts:
    """`zks_` methods about contracts."""

    prefix = "zks"

    def __init__(
        self, l1_chain_id: int, contracts: SettlementContracts, on_l2: L2Contracts
    ) -> None:
        self._l1_chain_id = l1_chain_id
        self._contracts = contracts
        self._on_l2 = on_l2

    @method(getter=True, served_by=ServedBy.REPLICA)
    def get_bridgehub_contract(self) -> Address:
        """Return the address of the Bridgehub on L1."""
        return self._contracts.bridgehub

    @method(getter=True, served_by=ServedBy.REPLICA)
    def get_main_contract(self) -> Address:
        """Return the address of this chain's diamond proxy on L1."""
        return self._contracts.chain

    @method(served_by=ServedBy.REPLICA)
    def get_bridge_contracts(self) -> BridgeContracts:
        """Return the addresses of the bridges on both layers."""
        it, on_l2 = self._contracts, self._on_l2
        # The bridge of the first clients takes ether for the fee.
        takes_ether = on_l2.base_token == ETH_TOKEN
        return BridgeContracts(
            l1_erc20_default_bridge=it.legacy_bridge if takes_ether else it.asset_router,
            l2_erc20_default_bridge=on_l2.asset_router,
            l1_shared_default_bridge=it.asset_router,
            l2_shared_default_bridge=on_l2.asset_router,
            l1_weth_bridge=_NONE,
            l2_weth_bridge=_NONE,
            l2_legacy_shared_bridge=on_l2.asset_router,
            l1_nullifier=it.nullifier,
            l1_native_token_vault=it.native_token_vault,
        )

    @method(getter=True, served_by=ServedBy.REPLICA)
    def get_base_token_l1_address(self) -> Address:
        """Return the L1 address of the base token; 0x…01 stands for ether."""
        return self._on_l2.base_token

    @method(name="zks_L1ChainId", getter=True, served_by=ServedBy.REPLICA)
    def l1_chain_id(self) -> Quantity:
        """Return the chain id of L1."""
        return Quantity(self._l1_chain_id)

    @method(name="zks_getL2Multicall3", getter=True, served_by=ServedBy.REPLICA)
    def get_l2_multicall3(self) -> Address:
        """Return the address of Multicall3 on L2."""
        return self._on_l2.multicall

    @method(getter=True, served_by=ServedBy.REPLICA)
    def get_testnet_paymaster(self) -> Address | None:
        """Return the address of the testnet paymaster, which a development chain has; null elsewhere."""
        return self._on_l2.testnet_paymaster

    @method(getter=True, served_by=ServedBy.REPLICA)
    def get_timestamp_asserter(self) -> Address | None:
        """Return the address of the timestamp asserter: null, because there is none."""
        return None

    @method(getter=True, served_by=ServedBy.REPLICA)
    def get_bytecode_supplier_contract(self) -> Address:
        """Return the address of the contract on L1 that bytecode is published with."""
        return self._contracts.bytecodes_supplier


_ENTRY_BYTES: Final = 256
MAX_SHORT_BYTES: Final = 64 * 1024
"""How long code is that is rendered on the event loop."""


class ZksBytecode:
    """Published bytecode.

    Remembers: rendered code, until the next block: what a block has published may be reverted.
    """

    prefix = "zks"

    def __init__(self, codes: StoreView, head: Callable[[], object]) -> None:
        """Read published code; `head` returns another object once there is another block."""
        self._codes = codes
        self._head = head
        self._known: BoundedMap[bytes, Raw] = BoundedMap(max_weight=CACHES.bytecodes)
        self._known_at: object = None

    @method(getter=True, served_by=ServedBy.REPLICA, past=Past.LOCAL)
    def get_bytecode_by_hash(self, hash: Hash32) -> Annotated[Raw, ByteArray] | Offload[Raw] | None:
        """Return published bytecode as an array of bytes.

        `hash` is the keccak of a contract's code, its EVM versioned hash (0x02…), which returns the code
        padded as it was hashed, or the hash of a factory dependency (0x01…).
        """
        if (head := self._head()) is not self._known_at:
            self._known_at = head
            self._known = BoundedMap(max_weight=CACHES.bytecodes)
        if (known := self._known.touch(hash)) is not None:
            return known
        code = self._codes.bytecode(hash)
        if code is None:
            return None
        if len(code) > MAX_SHORT_BYTES:
            return Offload(lambda: Raw(byte_array_json(code)))
        rendered = byte_array_json(code)
        found = Raw(rendered)
        self._known.put(bytes(hash), found, _ENTRY_BYTES + len(rendered))
        return found
