"""Make a bundle of calls, values and tokens, and send it to another L2 of a devnet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from web3 import Web3

from entresol.errors import BridgeFailed
from entresol.inprocess.bridge_client import address_of
from entresol.inprocess.interop.bundle import SentBundle, sent
from entresol.inprocess.interop.starters import (
    CallStarter,
    bundle_attributes,
    remote_call,
    token_transfer,
)
from entresol.primitives.base_token import ETH_TOKEN, L2_BASE_TOKEN, asset_id
from entresol.primitives.interop_bundles import (
    BUNDLE_SENT,
    INTEROP_CENTER,
    InteropBundle,
    encode_erc7930,
)
from entresol.primitives.l2_to_l1_logs import L1_MESSAGE_SENT, L1_MESSENGER
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from web3.types import TxReceipt

    from entresol.inprocess.settling_client import SettlingClient


class BundleBuilder:
    """Calls to another chain, which executes all of them or none; nothing is sent before `send`.

    What it needs of allowances is approved then, exactly. Remembers: the calls so far. Fails: with `BridgeFailed` for what
    no chain could take, and with `BundleReverted` when the center rejects it.
    """

    def __init__(
        self,
        source: SettlingClient,
        destination: SettlingClient,
        *,
        sender: str,
        executor: str | None = None,
        unbundler: str | None = None,
    ) -> None:
        self._source = source
        self._destination = destination
        self._sender = sender
        self._attributes = bundle_attributes(
            *(
                None if account is None else Address.parse(account)
                for account in (executor, unbundler)
            )
        )
        self._starters: list[CallStarter] = []
        self._approved: dict[str, int] = {}

    def call(self, to: str, data: Any = b"", *, value: int = 0) -> Self:
        """Add a call of a contract, which gets the data by `receiveMessage`.

        The data may also be a function of a web3.py contract with its arguments. The value is in what pays for gas on
        the destination; if that is another token than here, so much of it is burnt here.
        """
        self._starters.append(remote_call(Address.parse(to), _encoded(data), value))
        return self

    def value(self, amount: int, *, to: str | None = None) -> Self:
        """Add a payment in what pays for gas here; where another token does that, it arrives as a token."""
        receiver = Address.parse(to or self._sender)
        own = self._source.base_asset
        if own == self._destination.base_asset:
            self._starters.append(remote_call(receiver, b"", amount))
        else:
            token = Address.parse(self._source.base_token_on_l1)
            self._starters.append(token_transfer(own, amount, receiver, token, amount))
        return self

    def token(self, token: str, amount: int, *, to: str | None = None) -> Self:
        """Add an amount of a token: "ETH", or its address on this L2.

        What pays for gas on the destination arrives as such, and everything else as a token.
        """
        receiver = Address.parse(to or self._sender)
        address, asset = self._asset(token)
        if asset == self._source.base_asset:
            return self.value(amount, to=to)
        if asset == self._destination.base_asset:
            self._starters.append(remote_call(receiver, b"", amount))
            return self
        self._approved[address] = self._approved.get(address, 0) + amount
        self._starters.append(token_transfer(asset, amount, receiver, Address.parse(address)))
        return self

    def send(self) -> SentBundle:
        """Send it, and return it once a block has it."""
        for token, amount in self._approved.items():
            self._approve(token, amount)
        starters = [
            (starter.to, starter.data, list(starter.attributes)) for starter in self._starters
        ]
        chain = encode_erc7930(self._destination.l2.eth.chain_id)
        center = self._source.interop_center
        call = center.functions.sendBundle(chain, starters, self._attributes)
        receipt = sent(self._source, call, {"from": self._sender, "value": self._paid()})
        (bundle,) = bundles_of(receipt, self._source, self._destination)
        return bundle

    def _paid(self) -> int:
        """Return what the center takes: the fee of each call, and the values that are this chain's base token."""
        fee = self._source.interop_center.functions.interopProtocolFee().call()
        is_same = self._source.base_asset == self._destination.base_asset
        values = sum(starter.value for starter in self._starters) if is_same else 0
        indirect = sum(starter.indirect_value for starter in self._starters)
        return int(fee) * len(self._starters) + values + indirect

    def _asset(self, token: str) -> tuple[str, Hash32]:
        if token.upper() == "ETH":
            asset = asset_id(self._source.l1_chain_id, ETH_TOKEN)
            found = self._source.l2_vault.functions.tokenAddress(asset).call()
            return found, asset
        address = address_of(token)
        if Address.parse(address) == L2_BASE_TOKEN:
            return address, self._source.base_asset
        known = self._source.l2_vault.functions.assetId(address).call()
        own = asset_id(self._source.l2.eth.chain_id, Address.parse(address))
        return address, Hash32(known) if any(known) else own

    def _approve(self, token: str, amount: int) -> None:
        """Register a token, and let the vault take so much of it; what comes from other chains is burnt without."""
        vault, source = self._source.l2_vault, self._source
        if not int(token, 16):
            raise BridgeFailed("there is no ether on this L2: nobody has deposited it")
        held = source.l2_erc20(token).functions.balanceOf(self._sender).call()
        if held < amount:
            raise BridgeFailed(
                f"{self._sender} has {held} of the token {token}, and the bundle takes {amount}"
            )
        known = vault.functions.assetId(token).call()
        if not any(known):
            sent(source, vault.functions.ensureTokenIsRegistered(token), {"from": self._sender})
            known = vault.functions.assetId(token).call()
        if vault.functions.originChainId(known).call() == source.l2.eth.chain_id:
            approve = source.l2_erc20(token).functions.approve(vault.address, amount)
            sent(source, approve, {"from": self._sender})


def bundles_of(
    receipt: TxReceipt, source: SettlingClient, destination: SettlingClient
) -> list[SentBundle]:
    """Return the bundles that a transaction has sent to a destination."""
    found, messages = [], 0
    for log in receipt["logs"]:
        address, topics = Address.parse(log["address"]), [bytes(topic) for topic in log["topics"]]
        if not topics:
            continue
        if address == L1_MESSENGER and topics[0] == bytes(L1_MESSAGE_SENT):
            messages += 1
        elif address == INTEROP_CENTER and topics[0] == bytes(BUNDLE_SENT):
            _, _, bundle = InteropBundle.of_event(bytes(log["data"]))
            # The message of a bundle is the last one before its event.
            if bundle.destination == destination.l2.eth.chain_id:
                found.append(SentBundle(bundle, messages - 1, receipt, source, destination))
    return found


def _encoded(data: Any) -> bytes:
    if isinstance(data, bytes):
        return data
    if isinstance(data, str):
        return Web3.to_bytes(hexstr=data)  # type: ignore[arg-type]
    # A function of a contract, with its arguments.
    return Web3.to_bytes(hexstr=data._encode_transaction_data())  # noqa: SLF001 - web3.py has no other
