"""The genesis of a development L1: the settlement contracts are there from the first block on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from entresol._native import Account, BlockEnv, Checks, Overlay, Rules, Snapshot, TxEnv, execute
from entresol.chain.genesis.genesis import GenesisAccount
from entresol.contracts import artifact
from entresol.contracts.slots import Value, Word, storage_of
from entresol.l1.deployment import addresses_of
from entresol.primitives.assets import ETH_TOKEN, asset_id
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from entresol._native import AccountChange
    from entresol.l1.deployment import Deployment

_GAS: Final = 100_000_000
_UNCHECKED: Final = Checks(
    base_fee=False, fees=False, balance=False, nonce=False, sender_code=False, gas_cap=False
)


class _Nothing:
    """A state in which there is nothing yet."""

    def account(self, address: bytes) -> Account | None:  # noqa: ARG002 - asked by the engine
        return None

    def code(self, code_hash: bytes) -> bytes:  # noqa: ARG002
        return b""

    def slot(self, address: bytes, slot: bytes) -> bytes:  # noqa: ARG002
        return b""

    def block_hash(self, number: int) -> bytes:  # noqa: ARG002
        return bytes(32)


def deployment_accounts(deployment: Deployment, fork: str) -> dict[Address, GenesisAccount]:
    """Return the accounts that a deployment leaves, the deployer with its nonce among them.

    The transactions run as they would on any L1, only before its first block; so whoever deploys to
    another L1 gets the same contracts in the same state.
    """
    overlay = Overlay(Snapshot(_Nothing()))
    rules = Rules(deployment.l1_chain_id, fork)
    block = BlockEnv(number=0, timestamp=0, gas_limit=_GAS)
    for step in deployment.steps():
        message = TxEnv(
            sender=deployment.deployer, gas_limit=_GAS, to=step.to, data=step.data, gas_price=0
        )
        outcome = execute(overlay, rules, block, message, checks=_UNCHECKED)
        assert outcome.status == "success", f"{step.what}: {outcome.reason} {outcome.output.hex()}"
        overlay.apply(outcome)
    changes = overlay.changes()
    return {Address(change.address): _account(change, changes.codes) for change in changes.accounts}


def fund_vault(
    accounts: dict[Address, GenesisAccount], deployment: Deployment, ether: int
) -> dict[Address, GenesisAccount]:
    """Return the accounts with `ether` in the vault, as if it had been deposited to the chain.

    What an L2 has in its genesis was deposited by nobody. With this it can be withdrawn all the same.
    """
    vault = addresses_of(deployment.deployer, deployment.first_nonce).native_token_vault
    owed: dict[Word, Value] = {asset_id(deployment.l1_chain_id, ETH_TOKEN): ether}
    noted = storage_of(
        artifact("L1NativeTokenVault"), {"chainBalance": {deployment.chain_id: owed}}
    )
    empty = accounts[vault]
    full = msgspec.structs.replace(empty, balance=ether, storage={**empty.storage, **noted})
    return {**accounts, vault: full}


def _account(change: AccountChange, codes: dict[bytes, bytes]) -> GenesisAccount:
    account = change.after or Account()
    return GenesisAccount(
        nonce=account.nonce,
        balance=account.balance,
        code=codes.get(account.code_hash, b""),
        storage={Hash32(slot): Hash32(after) for slot, (_, after) in change.storage.items()},
    )
