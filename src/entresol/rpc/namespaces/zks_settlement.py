"""Where the layer 2 settles: the contracts on both layers."""

from __future__ import annotations

import msgspec

from entresol.primitives.values import Address, Quantity
from entresol.rpc.method import method
from entresol.rpc.wire import Wire

_NONE = Address.zero()


class SettlementAddresses(msgspec.Struct, frozen=True, kw_only=True):
    """The contracts by which a chain and its layer 1 know each other."""

    l1_chain_id: int
    bridgehub: Address
    chain: Address
    asset_router: Address
    nullifier: Address
    native_token_vault: Address
    base_token: Address
    bytecode_supplier: Address | None = None
    l2_asset_router: Address
    l2_multicall: Address


class BridgeContracts(Wire, frozen=True, kw_only=True):
    """The bridges of both layers; clients want an address for each, also where there is none."""

    l1_erc20_default_bridge: Address = msgspec.field(name="l1Erc20DefaultBridge")
    l2_erc20_default_bridge: Address = msgspec.field(name="l2Erc20DefaultBridge")
    l1_shared_default_bridge: Address
    l2_shared_default_bridge: Address
    l1_weth_bridge: Address
    l2_weth_bridge: Address
    l2_legacy_shared_bridge: Address
    l1_nullifier: Address
    l1_native_token_vault: Address


class ZksSettlement:
    """What binds the two layers."""

    prefix = "zks"

    def __init__(self, addresses: SettlementAddresses) -> None:
        self._addresses = addresses

    @method()
    def get_bridgehub_contract(self) -> Address:
        """Return the address of the bridgehub on L1."""
        return self._addresses.bridgehub

    @method()
    def get_main_contract(self) -> Address:
        """Return the address of this chain's contract on L1."""
        return self._addresses.chain

    @method()
    def get_bridge_contracts(self) -> BridgeContracts:
        """Return the addresses of the bridges on both layers."""
        it = self._addresses
        return BridgeContracts(
            l1_erc20_default_bridge=it.asset_router,
            l2_erc20_default_bridge=it.l2_asset_router,
            l1_shared_default_bridge=it.asset_router,
            l2_shared_default_bridge=it.l2_asset_router,
            l1_weth_bridge=_NONE,
            l2_weth_bridge=_NONE,
            l2_legacy_shared_bridge=it.l2_asset_router,
            l1_nullifier=it.nullifier,
            l1_native_token_vault=it.native_token_vault,
        )

    @method()
    def get_base_token_l1_address(self) -> Address:
        """Return the address on L1 of the token that fees are paid in; 0x…01 stands for ether."""
        return self._addresses.base_token

    @method(name="zks_L1ChainId")
    def l1_chain_id(self) -> Quantity:
        """Return the chain id of L1."""
        return Quantity(self._addresses.l1_chain_id)

    @method(name="zks_getL2Multicall3")
    def get_l2_multicall3(self) -> Address:
        """Return the address of the contract that makes many calls at once."""
        return self._addresses.l2_multicall

    @method()
    def get_testnet_paymaster(self) -> Address | None:
        """Return the address of the paymaster for tests; there is none."""
        return None

    @method()
    def get_timestamp_asserter(self) -> Address | None:
        """Return the address of the contract that asserts timestamps; there is none."""
        return None

    @method()
    def get_bytecode_supplier_contract(self) -> Address | None:
        """Return the address of the contract on L1 that publishes bytecode; none is needed."""
        return self._addresses.bytecode_supplier
