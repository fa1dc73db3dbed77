"""Genesis accounts of the development L1: the deployed settlement contracts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from entresol._native import Account, Rules
from entresol.chain.genesis.genesis import GenesisAccount
from entresol.contracts import artifact
from entresol.contracts.slots import Value, Word, storage_of
from entresol.l1.deployment import addresses_of
from entresol.l1.empty_state import empty_overlay, run_unchecked
from entresol.l1.public_networks import is_public_network
from entresol.primitives.assets import ETH_TOKEN, asset_id
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from entresol._native import AccountChange
    from entresol.l1.deployment import Deployment


def deployment_accounts(
    deployment: Deployment, fork: str, ether: int = 0
) -> dict[Address, GenesisAccount]:
    """Execute a deployment on an empty state, and return the resulting accounts, with `ether` of the deployer.

    The transactions are those for any other L1, so that the contracts are in the same state there.
    With the chain id of a public network there is no verifier; only chains that were created with one still have it.
    """
    overlay = empty_overlay()
    rules = Rules(deployment.l1_chain_id, fork)
    for step in deployment.steps():
        result = run_unchecked(overlay, rules, deployment.deployer, step.to, step.data)
        assert result.status == "success" or is_public_network(deployment.l1_chain_id), (
            f"{step.description}: {result.reason} {result.output.hex()}"
        )
        overlay.apply(result)
    changes = overlay.changes()
    found = {
        Address(change.address): _account(change, changes.codes) for change in changes.accounts
    }
    deployer = msgspec.structs.replace(found[deployment.deployer], balance=ether)
    return {**found, deployment.deployer: deployer}


def fund_vault(
    accounts: dict[Address, GenesisAccount], deployment: Deployment, ether: int
) -> dict[Address, GenesisAccount]:
    """Return the accounts with `ether` in the vault, as if it had been deposited to the chain.

    It backs the balances in the L2's genesis, so that they can be withdrawn.
    """
    vault = addresses_of(deployment.deployer, deployment.first_nonce).native_token_vault
    balances: dict[Word, Value] = {asset_id(deployment.l1_chain_id, ETH_TOKEN): ether}
    storage = storage_of(
        artifact("L1NativeTokenVault"), {"chainBalance": {deployment.chain_id: balances}}
    )
    account = accounts[vault]
    funded = msgspec.structs.replace(account, balance=ether, storage={**account.storage, **storage})
    return {**accounts, vault: funded}


def _account(change: AccountChange, codes: dict[bytes, bytes]) -> GenesisAccount:
    account = change.after or Account()
    return GenesisAccount(
        nonce=account.nonce,
        balance=account.balance,
        code=codes.get(account.code_hash, b""),
        storage={Hash32(slot): Hash32(after) for slot, (_, after) in change.storage.items()},
    )
