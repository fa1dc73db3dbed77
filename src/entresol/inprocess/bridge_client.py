"""The contracts of the bridge between the layers of a devnet, by web3.py."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from web3 import Web3

from entresol.contracts import artifact
from entresol.errors import BridgeFailed
from entresol.primitives.base_token import ETH_TOKEN, asset_id
from entresol.primitives.interop_bundles import INTEROP_CENTER, INTEROP_HANDLER
from entresol.primitives.interop_roots import ROOT_STORAGE
from entresol.primitives.l2_to_l1_logs import L1_MESSENGER
from entresol.primitives.values import Address, Hash32
from entresol.rollup.system_contracts import ASSET_ROUTER, BASE_TOKEN, NATIVE_TOKEN_VAULT

if TYPE_CHECKING:
    from hexbytes import HexBytes
    from web3.types import TxReceipt

PATIENCE_SECONDS: Final = 120.0
"""Far longer than a devnet takes for anything, also on a busy machine."""
POLL_SECONDS: Final = 0.005


def address_of(token: str) -> str:
    """Return the address of a token on L1, which is 0x…01 for "ETH"."""
    address = ETH_TOKEN if token.upper() == "ETH" else Address.parse(token)
    return address.checksummed()


class BridgeClient:
    """Clients of two layers, the contracts between them, and transactions to these that have to succeed.

    Remembers: addresses. Fails: with `BridgeFailed`, or with what web3.py raises.
    """

    def __init__(self, l1: Web3, l2: Web3) -> None:
        self.l1 = l1
        self.l2 = l2

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {_shown(self.l1)}, {_shown(self.l2)}>"

    @cached_property
    def bridgehub(self) -> Any:
        """The Bridgehub on L1."""
        return self._contract(self.l1, "Bridgehub", self.rpc("zks_getBridgehubContract"))

    @cached_property
    def main(self) -> Any:
        """The contract of the chain on L1."""
        return self._contract(self.l1, "ZKChain", self.rpc("zks_getMainContract"))

    @cached_property
    def nullifier(self) -> Any:
        """The contract on L1 that pays withdrawals."""
        address = self.rpc("zks_getBridgeContracts")["l1Nullifier"]
        return self._contract(self.l1, "L1Nullifier", address)

    @cached_property
    def base_token_on_l1(self) -> str:
        """The address on L1 of what pays for gas on L2; 0x…01 stands for ether."""
        return Web3.to_checksum_address(self.rpc("zks_getBaseTokenL1Address"))

    @cached_property
    def l1_asset_router(self) -> Any:
        """The contract on L1 that collects deposits, for which they are approved."""
        address = self.rpc("zks_getBridgeContracts")["l1SharedDefaultBridge"]
        return self._contract(self.l1, "L1AssetRouter", address)

    @cached_property
    def l1_vault(self) -> Any:
        """The contract on L1 that holds what was deposited."""
        address = self.rpc("zks_getBridgeContracts")["l1NativeTokenVault"]
        return self._contract(self.l1, "L1NativeTokenVault", address)

    @cached_property
    def l2_asset_router(self) -> Any:
        """The contract on L2 that tokens come and go by."""
        return self._contract(self.l2, "L2AssetRouter", str(ASSET_ROUTER))

    @cached_property
    def l2_vault(self) -> Any:
        """The contract on L2 that holds tokens which have left it, and mints those that arrive."""
        return self._contract(self.l2, "L2NativeTokenVault", str(NATIVE_TOKEN_VAULT))

    @cached_property
    def interop_center(self) -> Any:
        """The contract on L2 that sends bundles to other chains."""
        return self._contract(self.l2, "InteropCenter", str(INTEROP_CENTER))

    @cached_property
    def interop_handler(self) -> Any:
        """The contract on L2 that executes bundles of other chains."""
        return self._contract(self.l2, "InteropHandler", str(INTEROP_HANDLER))

    @cached_property
    def interop_roots(self) -> Any:
        """The contract on L2 that has the roots of L1 which prove bundles of other chains."""
        return self._contract(self.l2, "L2InteropRootStorage", str(ROOT_STORAGE))

    @cached_property
    def base_asset(self) -> Hash32:
        """The asset id of what pays for gas on L2."""
        return Hash32(self.l2_vault.functions.BASE_TOKEN_ASSET_ID().call())

    @cached_property
    def l1_chain_id(self) -> int:
        """The chain id of L1."""
        return self.l1.eth.chain_id

    def l1_token(self, token: str) -> Any:
        """Return a token on L1."""
        return self._contract(self.l1, "TestERC20", token)

    def l2_token(self, token: str) -> Any:
        """Return what a token of L1, "ETH" or its address, is on L2; it has to have been deposited there."""
        address = self.l2_vault.functions.tokenAddress(self._asset(token)).call()
        if not int(address, 16):
            raise BridgeFailed(f"the token {token} of L1 has not been deposited to this L2")
        return self.l2_erc20(address)

    def l2_erc20(self, token: str) -> Any:
        """Return a token on L2 by its address there."""
        return self._contract(self.l2, "BridgedStandardERC20", token)

    @cached_property
    def messenger(self) -> Any:
        """The contract on L2 that sends messages."""
        return self._contract(self.l2, "L1Messenger", str(L1_MESSENGER))

    @cached_property
    def base_token(self) -> Any:
        """The contract on L2 that burns what pays for gas."""
        return self._contract(self.l2, "L2BaseToken", str(BASE_TOKEN))

    def _is_base(self, token: str) -> bool:
        return address_of(token) == self.base_token_on_l1

    def _asset(self, token: str) -> bytes:
        """Return the asset id of a token on L1, which may be one that was never deposited."""
        address = address_of(token)
        known: bytes = self.l1_vault.functions.assetId(address).call()
        return known if any(known) else asset_id(self.l1.eth.chain_id, Address.parse(address))

    @staticmethod
    def _contract(layer: Web3, name: str, address: str) -> Any:
        return layer.eth.contract(Web3.to_checksum_address(address), abi=artifact(name).abi)

    def _sender(self, sender: str | None) -> str:
        return sender or self.l2.eth.accounts[0]

    def rpc(self, method: str, *params: Any) -> Any:
        """Return the result of a method of the L2, which web3.py may not know."""
        return self.l2.manager.request_blocking(method, params)  # type: ignore[arg-type]

    def _send(self, layer: Web3, call: Any, transaction: dict[str, Any]) -> TxReceipt:
        receipt = self.receipt_of(layer, call.transact(transaction))
        if not receipt["status"]:
            raise BridgeFailed(
                f"{call.fn_name} has reverted: {receipt['transactionHash'].to_0x_hex()}"
            )
        return receipt

    @staticmethod
    def receipt_of(layer: Web3, transaction: HexBytes) -> TxReceipt:
        """Return the receipt of a transaction, once a block has it."""
        return layer.eth.wait_for_transaction_receipt(
            transaction, timeout=PATIENCE_SECONDS, poll_latency=POLL_SECONDS
        )


def _shown(client: Web3) -> str:
    records = getattr(client.provider, "records", None)
    return str(client.provider) if records is None else str(records.title)
