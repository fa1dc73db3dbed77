"""Tokens of an L2 itself, which withdrawals bring to L1."""

from __future__ import annotations

from web3.logs import DISCARD

from entresol.inprocess.bridge import Bridge, SentMessage
from entresol.primitives import abi
from entresol.primitives.values import Address


def withdraw_native(bridge: Bridge, token: str, amount: int, sender: str) -> SentMessage:
    """Send a token of the L2 itself to L1."""
    vault, here = bridge.l2_vault, bridge.l2_erc20(token)
    asset = vault.functions.assetId(token).call()
    if not any(asset):
        vault.functions.ensureTokenIsRegistered(token).transact({"from": sender})
        asset = vault.functions.assetId(token).call()
    here.functions.approve(vault.address, amount).transact({"from": sender})
    burn = (amount, Address.parse(sender), Address.parse(token))
    router = bridge.l2_asset_router
    call = router.functions["withdraw(bytes32,bytes)"](
        asset, abi.encode("(uint256,address,address)", burn)
    )
    receipt = bridge.receipt_of(bridge.l2, call.transact({"from": sender}))
    (event,) = bridge.messenger.events.L1MessageSent().process_receipt(receipt, DISCARD)
    return SentMessage(router.address, bytes(event["args"]["message"]), receipt)
