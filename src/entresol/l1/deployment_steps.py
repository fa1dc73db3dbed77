"""The transactions that deploy contracts on L1 and register chains with them."""

from __future__ import annotations

from typing import Final, NamedTuple

from entresol.contracts import artifact
from entresol.primitives import abi
from entresol.primitives.values import Address, Hash32

_REGISTER_CHAIN: Final = "registerChain(uint256,address,address,bytes32,bytes32)"


class DeploymentStep(NamedTuple):
    """A transaction of the deployment; without a target it creates a contract."""

    description: str
    to: Address | None
    data: bytes
    sender: Address | None = None
    """Who sends it; the deployer, unless it is one of the development L1's accounts."""
    value: int = 0


class Registration(NamedTuple):
    """The call of the Bridgehub's owner that registers a chain."""

    bridgehub: Address
    chain_id: int
    chain_type_manager: Address
    chain: Address | None
    """Its contract; None as long as there is none."""
    base_token: Hash32
    genesis_batch_hash: Hash32

    def __str__(self) -> str:
        """Return the call as people write it."""
        chain = "<the contract of the chain>" if self.chain is None else self.chain.checksummed()
        arguments = (self.chain_type_manager.checksummed(), chain, self.base_token)
        shown = ", ".join(map(str, (self.chain_id, *arguments, self.genesis_batch_hash)))
        return f"{_REGISTER_CHAIN.partition('(')[0]}({shown}) of {self.bridgehub.checksummed()}"

    @property
    def step(self) -> DeploymentStep:
        """The transaction."""
        assert self.chain is not None
        arguments = (self.chain_id, self.chain_type_manager, self.chain, self.base_token)
        data = abi.encode_call(_REGISTER_CHAIN, *arguments, self.genesis_batch_hash)
        return DeploymentStep(f"register chain {self.chain_id}", self.bridgehub, data)


def creation(name: str, types: str, arguments: tuple[object, ...]) -> DeploymentStep:
    """Return what creates a contract, with the arguments of its constructor."""
    code = bytes(artifact(name).bytecode) + abi.encode(types, arguments)
    return DeploymentStep(f"deploy {name}", None, code)


def token_registration(
    vault: Address, token: Address, sender: Address | None = None
) -> DeploymentStep:
    """Return what registers a token with the vault, so that it can pay for gas; anyone may send it, and again."""
    data = abi.encode_call("ensureTokenIsRegistered(address)", token)
    return DeploymentStep("register the base token", vault, data, sender)


def validator_addition(
    description: str, timelock: Address, chain: Address, account: Address
) -> DeploymentStep:
    """Return what lets an account settle the batches of a chain; its admin has to send it."""
    data = abi.encode_call("addValidator(address,address)", chain, account)
    return DeploymentStep(description, timelock, data)


def pair_registration(registrar: Address, chain_id: int, registered_on: int) -> DeploymentStep:
    """Return what tells one chain of another; anyone may send it, once."""
    data = abi.encode_call("registerChain(uint256,uint256)", chain_id, registered_on)
    return DeploymentStep(f"tell chain {registered_on} of chain {chain_id}", registrar, data)
