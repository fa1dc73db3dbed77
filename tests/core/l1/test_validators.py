"""The accounts that may settle a chain's batches: checked by key, and added by the chain's admin."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from entresol.errors import LayerOneMismatch
from entresol.l1.operator import Operator, OperatorKeys
from entresol.l1.validators import add_validators, check_validators
from entresol.primitives.values import Hash32
from tests.support.played import played
from tests.support.rollup.layer_ones import ACCOUNTS, SteeredLayerOne
from tests.support.rollup.settlement_scenario import DeployedContracts, deploy

OWNER, COMMITTER, PROVER, EXECUTOR = ACCOUNTS[:4]
ONE = OperatorKeys.of(COMMITTER.secret)
THREE = OperatorKeys.of(COMMITTER.secret, PROVER.secret, EXECUTOR.secret)


def run(steered: SteeredLayerOne, play: Callable[[DeployedContracts], Awaitable[None]]) -> None:
    async def whole() -> None:
        try:
            deployed = await deploy(steered.l1, 270, Hash32(b"\7" * 32), COMMITTER.address)
            await play(deployed)
        finally:
            await steered.l1.close()

    asyncio.run(whole())


@played(run)
async def test_the_error_says_which_key_lacks_which_step_and_who_adds_it(
    deployed: DeployedContracts,
) -> None:
    two = OperatorKeys.of(COMMITTER.secret, PROVER.secret, PROVER.secret)

    l1 = deployed.chain.l1
    await check_validators(l1, deployed.addresses, ONE)
    with pytest.raises(LayerOneMismatch) as rejected:
        await check_validators(l1, deployed.addresses, two)
    address, chain = PROVER.address.checksummed(), deployed.addresses.chain.checksummed()
    message = str(rejected.value)
    assert message.startswith(
        f"{address}, the account of --prove-key, may not prove and execute batches on "
    )
    assert f"it is not a validator of the timelock {deployed.timelock.checksummed()}" in message
    assert (
        f"The chain's admin, {OWNER.address.checksummed()}, adds it by calling "
        f"addValidator({chain}, {address}) there" in message
    )


@played(run)
async def test_the_admin_adds_each_missing_validator_once(deployed: DeployedContracts) -> None:
    l1 = deployed.chain.l1
    admin, reported = Operator(l1, OWNER.secret), list[str]()
    before = await l1.nonce(OWNER.address)
    for _ in range(2):
        await add_validators(l1, admin, deployed.addresses, THREE, reported.append)
    await check_validators(l1, deployed.addresses, THREE)
    assert await l1.nonce(OWNER.address) - before == 2
    assert reported == [
        f"let the operator that proves, {PROVER.address.checksummed()}, settle batches",
        f"let the operator that executes, {EXECUTOR.address.checksummed()}, settle batches",
    ]


@played(run)
async def test_another_account_than_the_admin_adds_nothing(deployed: DeployedContracts) -> None:
    l1 = deployed.chain.l1
    other = Operator(l1, COMMITTER.secret)
    await add_validators(l1, other, deployed.addresses, THREE, pytest.fail)
    with pytest.raises(LayerOneMismatch, match="account of --prove-key, may not prove batches"):
        await check_validators(l1, deployed.addresses, THREE)


@played(run)
async def test_only_keys_that_all_have_no_funds_are_rejected(deployed: DeployedContracts) -> None:
    poor = Hash32(b"\x0e" * 32)

    l1 = deployed.chain.l1
    admin = Operator(l1, OWNER.secret)
    for keys in (OperatorKeys.of(poor), OperatorKeys.of(poor, COMMITTER.secret)):
        await add_validators(l1, admin, deployed.addresses, keys, lambda _step: None)
    await check_validators(l1, deployed.addresses, OperatorKeys.of(poor, COMMITTER.secret))
    with pytest.raises(LayerOneMismatch, match=r"^0x\w+ has no ether"):
        await check_validators(l1, deployed.addresses, OperatorKeys.of(poor))
