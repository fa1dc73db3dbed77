"""Genesis accounts of the development L1: the settlement contracts, and what public networks have at known addresses."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from entresol._native import (
    Account,
    BlockEnv,
    Checks,
    Overlay,
    Rules,
    Snapshot,
    TxEnv,
    execute,
    keccak256,
)
from entresol.chain.genesis.genesis import GenesisAccount
from entresol.contracts import artifact
from entresol.contracts.slots import Value, Word, storage_of
from entresol.l1.deployment import DeploymentStep, addresses_of, creation
from entresol.primitives.base_token import BaseToken, asset_id
from entresol.primitives.values import Address, Hash32, create_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from entresol._native import AccountChange, ExecutionResult
    from entresol.l1.deployment import Deployment

_CONTRACT: Final = "TestERC20"

TOKEN_REGISTRAR: Final = Address(keccak256(b"entresol: the registrar of base tokens")[-20:])
"""Registers the tokens with the vault of the development L1, so that no address of another contract depends on them."""

_MAX_CHAIN_ID: Final = 2**64 - 1
"""Larger ids are not supported by the engine, and no public network has one."""
DEVELOPMENT_CHAINS: Final = frozenset({9, 260, 270, 271, 1337, 31337, 31338, 3151908})
"""The ids of local chains: of the ZK Stack (9, 260, 270, 271), of geth and Ganache (1337), of anvil and Hardhat (31337,
and 31338 for a second one), of Kurtosis (3151908)."""
_SETUP_GAS: Final = 100_000_000
_CONTRACT_NONCE: Final = 1
_UNCHECKED: Final = Checks(
    base_fee=False, fees=False, balance=False, nonce=False, sender_code=False, gas_cap=False
)
_GENESIS: Final = BlockEnv(number=0, timestamp=0, gas_limit=_SETUP_GAS)


class Holding(NamedTuple):
    """An amount of a token in a genesis."""

    token: Address
    owner: Address
    amount: int


def development_token(symbol: str, decimals: int) -> BaseToken:
    """Return the token of the development L1 that has a symbol, without its price.

    Its address follows from the symbol alone: neither from the contract's code, which later versions compile again, nor
    from the other tokens.
    """
    return BaseToken(
        l1_address=create_address(_creator(symbol), 0),
        name=f"{symbol} Token",
        symbol=symbol,
        decimals=decimals,
    )


def creation_of(token: BaseToken) -> DeploymentStep:
    """Return the transaction that creates a token, by a sender that sends nothing else."""
    arguments = (token.name, token.symbol, token.decimals)
    step = creation(_CONTRACT, "(string,string,uint8)", arguments)
    return step._replace(description=f"deploy {token.symbol}", sender=_creator(token.symbol))


def with_holdings(
    accounts: dict[Address, GenesisAccount], holdings: Iterable[Holding]
) -> dict[Address, GenesisAccount]:
    """Return the accounts with amounts of tokens, as if they had been minted; supplies are the sums of them."""
    found: dict[Address, dict[Address, int]] = defaultdict(lambda: defaultdict(int))
    for token, owner, amount in holdings:
        found[token][owner] += amount
    funded = dict(accounts)
    for token, owners in found.items():
        balances: dict[Word, Value] = dict(owners.items())
        minted: dict[str, Value] = {"totalSupply": sum(owners.values()), "balanceOf": balances}
        storage = {**accounts[token].storage, **storage_of(artifact(_CONTRACT), minted)}
        funded[token] = msgspec.structs.replace(accounts[token], storage=storage)
    return funded


def _creator(symbol: str) -> Address:
    """Return the sender of a token's creation, whose key nobody knows."""
    return Address(keccak256(b"entresol: the creator of the token " + symbol.encode())[-20:])


@cache
def is_public_network(chain_id: int) -> bool:
    """Return whether the contracts cannot be deployed on a chain, because it is a public network."""
    if chain_id > _MAX_CHAIN_ID:
        return False
    code = artifact("DevelopmentVerifier").bytecode
    result = run_unchecked(empty_overlay(), Rules(chain_id), Address.zero(), None, code)
    return result.status != "success"


def development_problem(chain_id: int, *, is_development: bool) -> str | None:
    """Return why contracts and money for development are not for an L1; None if they are.

    An id that nobody knows may be that of a public network which is younger than this list, so an L1 is only taken for
    a development chain by an id that developers use, or because its user says so.
    """
    if is_public_network(chain_id):
        return (
            f"{chain_id} is the chain id of a public network, and these contracts accept proofs that prove "
            "nothing: an operator could take what others deposit there; use an L1 of your own, and give a "
            "fork of a public network another chain id"
        )
    if is_development or chain_id in DEVELOPMENT_CHAINS:
        return None
    return (
        f"{chain_id} is not known as the chain id of a development chain, and these contracts accept proofs that "
        "prove nothing: if that L1 is for development and nobody else uses it, say so by --l1-development"
    )


class _EmptyState:
    """A state without accounts."""

    def account(self, address: bytes) -> Account | None:  # noqa: ARG002 - the engine's interface
        return None

    def code(self, code_hash: bytes) -> bytes:  # noqa: ARG002
        return b""

    def slot(self, address: bytes, slot: bytes) -> bytes:  # noqa: ARG002
        return b""

    def block_hash(self, number: int) -> bytes:  # noqa: ARG002
        return bytes(32)


def empty_overlay() -> Overlay:
    """Return an overlay on a state without accounts."""
    return Overlay(Snapshot(_EmptyState()))


def run_unchecked(
    overlay: Overlay, rules: Rules, sender: Address, to: Address | None, data: bytes
) -> ExecutionResult:
    """Execute a transaction, whose sender needs no funds; the caller applies its changes."""
    message = TxEnv(sender=sender, gas_limit=_SETUP_GAS, to=to, data=data, gas_price=0)
    return execute(overlay, rules, _GENESIS, message, checks=_UNCHECKED)


def deployment_accounts(
    deployment: Deployment, fork: str, ether: int = 0, *, salt: Hash32 | None = None
) -> dict[Address, GenesisAccount]:
    """Execute a deployment on an empty state, and return the resulting accounts, with `ether` of the deployer.

    The base tokens are created first.

    The transactions are those for any other L1, so that the contracts are in the same state there.
    With the chain id of a public network there is no verifier; only chains that were created with one still have it.
    An L1 that is a copy of a chain has that chain's id, a `salt` for tokens that the vault deploys, since those of a
    vault like it keep their addresses, and the verifier for forks, which no transaction can deploy.
    """
    overlay = empty_overlay()
    rules = Rules(deployment.l1_chain_id, fork)
    tokens = {chain.base_token.l1_address: chain.base_token for chain in deployment.chains}
    created = [creation_of(token) for token in tokens.values() if not token.is_ether]
    verifier = artifact("DevelopmentVerifier").bytecode
    for step in (*created, *deployment.steps()):
        sender = step.sender or deployment.deployer
        result = run_unchecked(overlay, rules, sender, step.to, step.data)
        may_fail = step.data == verifier and is_public_network(deployment.l1_chain_id)
        assert result.status == "success" or may_fail, (
            f"{step.description}: {result.reason} {result.output.hex()}"
        )
        overlay.apply(result)
    changes = overlay.changes()
    found = {
        Address(change.address): _account(change, changes.codes) for change in changes.accounts
    }
    deployer = msgspec.structs.replace(found[deployment.deployer], balance=ether)
    found[deployment.deployer] = deployer
    return found if salt is None else found | _of_a_copy(deployment, found, salt)


def _of_a_copy(
    deployment: Deployment, found: Mapping[Address, GenesisAccount], salt: Hash32
) -> dict[Address, GenesisAccount]:
    """Return the contracts that a copy of a chain has otherwise."""
    code = bytes(artifact("ForkVerifier").runtime)
    vault = found[deployment.contracts.native_token_vault]
    salted = storage_of(artifact("L1NativeTokenVault"), {"BRIDGED_TOKEN_SALT": salt})
    return {
        deployment.contracts.verifier: GenesisAccount(nonce=_CONTRACT_NONCE, code=code),
        deployment.contracts.native_token_vault: msgspec.structs.replace(
            vault, storage={**vault.storage, **salted}
        ),
    }


def fund_vault(
    accounts: dict[Address, GenesisAccount],
    deployment: Deployment,
    amounts: Mapping[int, int],
    holdings: Iterable[Holding] = (),
) -> dict[Address, GenesisAccount]:
    """Return the accounts with base tokens in the vault, as if they had been deposited to each chain, by its id.

    They back the balances in the genesis of an L2, so that they can be withdrawn. `holdings` are what others have.
    """
    vault = addresses_of(deployment.deployer, deployment.first_nonce).native_token_vault
    ether, balances, tokens = 0, dict[Word, Value](), [*holdings]
    for chain in deployment.chains:
        token, amount = chain.base_token, amounts[chain.chain_id]
        balances[chain.chain_id] = {asset_id(deployment.l1_chain_id, token.l1_address): amount}
        if token.is_ether:
            ether += amount
        else:
            tokens.append(Holding(token.l1_address, vault, amount))
    storage = storage_of(artifact("L1NativeTokenVault"), {"chainBalance": balances})
    account = accounts[vault]
    funded = msgspec.structs.replace(account, balance=ether, storage={**account.storage, **storage})
    return with_holdings({**accounts, vault: funded}, tokens)


def with_pairs(
    accounts: dict[Address, GenesisAccount], deployment: Deployment
) -> dict[Address, GenesisAccount]:
    """Return the accounts as if each chain had been told of all others, which they know in their genesis."""
    sender = deployment.contracts.chain_registration_sender
    assert sender is not None
    ids = [chain.chain_id for chain in deployment.chains]
    pairs: dict[Word, Value] = {
        chain: {other: 1 for other in ids if other != chain} for chain in ids
    }
    storage = storage_of(artifact("ChainRegistrationSender"), {"isRegistered": pairs})
    account = accounts[sender]
    told_all = msgspec.structs.replace(account, storage={**account.storage, **storage})
    return {**accounts, sender: told_all}


def _account(change: AccountChange, codes: dict[bytes, bytes]) -> GenesisAccount:
    account = change.after or Account()
    return GenesisAccount(
        nonce=account.nonce,
        balance=account.balance,
        code=codes.get(account.code_hash, b""),
        storage={Hash32(slot): Hash32(after) for slot, (_, after) in change.storage.items()},
    )
