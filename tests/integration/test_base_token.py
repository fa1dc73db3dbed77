"""Chains whose gas is paid in tokens of 18 and of 6 decimals, beside one that is paid in ether, on one L1."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol import devnet
from entresol.errors import BridgeFailed
from entresol.inprocess.bridge import Bridge
from entresol.inprocess.devnet import Devnet
from entresol.inprocess.devnet_settings import SettingValue
from entresol.primitives.base_token import ETH_TOKEN, asset_id
from entresol.primitives.values import Address

L1_CHAIN = 31337
CHAINS: list[dict[str, SettingValue]] = [
    {"chain_id": 300, "base_token": "ZOO", "base_token_ratio": "628/17"},
    {"chain_id": 301, "base_token": "USD", "base_token_ratio": 3000, "base_token_decimals": 6},
    {"chain_id": 302},
]
UNITS = (10**18, 10**6, 10**18)
SYMBOL, ETHER, ETH = "ZOO", "ETH", str(ETH_TOKEN)
GAS = 2_000_000
STRANGER = Address(b"\x5e" * 20).checksummed()
"""An account without anything on either layer."""
PAID_IN_TOKENS = pytest.mark.parametrize("index", [0, 1], ids=["18-decimals", "6-decimals"])
EACH = pytest.mark.parametrize("index", [0, 1, 2], ids=["18-decimals", "6-decimals", "ether"])


@pytest.fixture(scope="module")
def started() -> Iterator[Devnet]:
    with devnet(chains=CHAINS, settle_interval=0.05) as net:
        yield net


@pytest.fixture
def net(started: Devnet) -> Iterator[Devnet]:
    with started.isolated():
        yield started


def books(bridge: Bridge, token: str | None = None) -> int:
    """Return how much of a token L1 holds for the L2, by default of what pays for gas."""
    asset = asset_id(L1_CHAIN, Address.parse(token or bridge.base_token_on_l1))
    found: int = bridge.l1_vault.functions.chainBalance(bridge.l2.eth.chain_id, asset).call()
    return found


def on_l1(bridge: Bridge, owner: str, token: str | None = None) -> int:
    """Return what an account has on L1 of a token, by default of what pays for gas on the L2."""
    token = token or bridge.base_token_on_l1
    if Address.parse(token) == Address.parse(ETH):
        return bridge.l1.eth.get_balance(bridge.l1.to_checksum_address(owner))
    found: int = (
        bridge.l1_token(token).functions.balanceOf(bridge.l1.to_checksum_address(owner)).call()
    )
    return found


def on_l2(bridge: Bridge, owner: str) -> int:
    return bridge.l2.eth.get_balance(bridge.l2.to_checksum_address(owner))


@EACH
def test_the_vault_starts_with_exactly_what_the_genesis_of_each_chain_allocates(
    net: Devnet, index: int
) -> None:
    bridge = net.bridges[index]
    accounts = (
        *[account.address for account in net.accounts],
        net.l2s[index].request("zks_getTestnetPaymaster"),
    )

    allocated = sum(on_l2(bridge, account) for account in accounts)

    assert allocated == 13 * 10_000 * UNITS[index]
    assert books(bridge) == on_l1(bridge, bridge.l1_vault.address) == allocated


@EACH
def test_what_pays_for_gas_of_a_failed_deposit_is_with_the_refund_recipient(
    net: Devnet, index: int
) -> None:
    bridge, account = net.bridges[index], net.accounts[6].address
    before = on_l2(bridge, account)

    # Its receiver rejects the call.
    rejects = bridge.l2_asset_router.address
    failed = bridge.deposit(UNITS[index], to=rejects, sender=account, data=b"\1\2\3\4", gas=GAS)

    assert failed.l2["status"] == 0
    assert on_l2(bridge, account) >= before + UNITS[index]
    with pytest.raises(BridgeFailed, match="refund recipient"):
        bridge.recover(failed)


@PAID_IN_TOKENS
def test_a_deposit_of_more_than_the_sender_has_says_so_before_anything_is_sent(
    net: Devnet, index: int
) -> None:
    bridge, sender = net.bridges[index], net.accounts[0].address
    nonce = bridge.l1.eth.get_transaction_count(sender)

    with pytest.raises(BridgeFailed, match="on L1, and the deposit takes"):
        bridge.deposit(10**40, to=STRANGER, gas=2_000_000)

    assert bridge.l1.eth.get_transaction_count(sender) == nonce


def test_two_chains_of_a_devnet_may_share_a_base_token() -> None:
    with devnet(chains=2, base_token=SYMBOL) as net:
        first, second = net.bridges
        assert first.base_token_on_l1 == second.base_token_on_l1
        assert books(first) == books(second) == on_l1(first, first.l1_vault.address) // 2
        second.finalize(second.withdraw(10**18, to=STRANGER))
        assert books(first) - books(second) == on_l1(first, STRANGER) == 10**18
