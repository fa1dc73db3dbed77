"""Validators of a chain: the accounts that may settle its batches, by the timelock on L1, and what they pay with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.errors import LayerOneMismatch
from entresol.l1.contracts import ZkChain, read_contract
from entresol.l1.deployment import DeploymentStep, send_step, validator_addition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from entresol.l1.deployment import SettlementContracts
    from entresol.l1.layer_one import LayerOne
    from entresol.l1.operator import Operator, OperatorKey, OperatorKeys
    from entresol.primitives.values import Address

FUNDS: Final = 10 * 10**18
"""The most that an account without ether gets, in wei: enough for thousands of batches."""
SHARE: Final = 20
"""It gets at most this part of what the payer has."""

_ATTEMPTS: Final = 3
"""A transaction that was pending before may take the nonce of one that adds a validator."""


async def add_validators(
    l1: LayerOne,
    admin: Operator,
    contracts: SettlementContracts,
    keys: OperatorKeys,
    progress: Callable[[str], None],
) -> None:
    """Have the chain's admin add the accounts of the keys that are not validators yet, reporting each.

    Does nothing if `admin` is not the chain's admin. It can be interrupted and run again.
    """
    if await _admin_of(l1, contracts) != admin.address:
        return
    for _ in range(_ATTEMPTS):
        for key in [
            candidate
            for candidate in keys.keys
            if not await is_validator(l1, contracts, candidate.address)
        ]:
            description = f"let {key.name}, {key.address.checksummed()}, settle batches"
            progress(description)
            timelock, chain = contracts.validator_timelock, contracts.chain
            step = validator_addition(description, timelock, chain, key.address)
            await send_step(l1, admin, step, await l1.nonce(admin.address))


async def fund(
    l1: LayerOne, payer: Operator, accounts: Iterable[Address], progress: Callable[[str], None]
) -> None:
    """Have `payer` send ether to those accounts that have none, reporting each; it can be interrupted and run again."""
    wanted = sorted(accounts)
    for _ in range(_ATTEMPTS):
        for account in [candidate for candidate in wanted if not await l1.balance(candidate)]:
            amount = min(FUNDS, await payer.balance() // SHARE)
            description = f"send {amount / 10**18:g} ether to the operator {account.checksummed()}"
            progress(description)
            step = DeploymentStep(description, account, b"", value=amount)
            await send_step(l1, payer, step, await l1.nonce(payer.address))


async def check_validators(
    l1: LayerOne, contracts: SettlementContracts, keys: OperatorKeys
) -> None:
    """Raise `LayerOneMismatch` if an account may not settle batches, or if none has funds."""
    for key in keys.keys:
        if not await is_validator(l1, contracts, key.address):
            raise LayerOneMismatch(await rejection(l1, contracts, key))
    balances = [await l1.balance(key.address) for key in keys.keys]
    if not any(balances):
        accounts = " nor ".join(key.address.checksummed() for key in keys.keys)
        raise LayerOneMismatch(f"{accounts} has no ether on {l1.name} to settle with")


async def rejection(l1: LayerOne, contracts: SettlementContracts, key: OperatorKey) -> str:
    """Return why an account may not settle batches, and who can change that."""
    address, timelock = key.address.checksummed(), contracts.validator_timelock.checksummed()
    admin, chain = (await _admin_of(l1, contracts)).checksummed(), contracts.chain.checksummed()
    steps = key.describe(lambda step: step.name.lower())
    return (
        f"{address}, the account of {key.flag}, may not {steps} batches on {l1.name}: it is not a validator of "
        f"the timelock {timelock}. The chain's admin, {admin}, adds it by calling "
        f"addValidator({chain}, {address}) there, as a start with --deploy-l1 and the admin's --operator-key "
        f"does; or set {key.flag} to the key of a validator, or use --no-settle"
    )


async def is_validator(l1: LayerOne, contracts: SettlementContracts, account: Address) -> bool:
    """Return whether an account may settle the batches of a chain, and revert them."""
    signature, arguments = "validators(address,address)", (contracts.chain, account)
    found = await read_contract(l1, contracts.validator_timelock, signature, "bool", *arguments)
    return bool(found)


async def _admin_of(l1: LayerOne, contracts: SettlementContracts) -> Address:
    return await ZkChain(l1, contracts.chain).admin()
