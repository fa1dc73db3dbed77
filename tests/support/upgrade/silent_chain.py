"""The contracts of chains as versions until 18 November 2026 deployed them: with facets, and publishing nothing."""

from __future__ import annotations

import lzma
from pathlib import Path

from eth_abi import abi

from entresol.contracts import artifact
from entresol.l1.deployment import Deployment
from entresol.l1.deployment_steps import DeploymentStep
from entresol.primitives.addresses import create_address
from tests.support.contracts.engine import Contract, find, types
from tests.support.contracts.l1_contracts import (
    CALLDATA_DA,
    DEPLOYER,
    ETH_TOKEN,
    OPERATOR,
    OTHER_CHAIN_ID,
    Deployed,
    asset_id,
    chain_settings,
)

_WORD = 32
_DROPPED = {"ZKChain": 1, "MailboxFacet": 0, "ExecutorFacet": 0}
"""How many arguments of today's constructors those had not: whether the chain is for development."""


def silent_facets(l1: Deployed) -> tuple[Contract, Contract]:
    """Deploy the facets of those versions beside the contracts of today."""
    return (
        _deploy(l1, "MailboxFacet", l1.bridgehub.address),
        _deploy(l1, "ExecutorFacet", l1.bridgehub.address),
    )


def silent_chain(
    l1: Deployed,
    genesis_hash: bytes,
    *,
    da: int = CALLDATA_DA,
    facets: tuple[Contract, Contract] | None = None,
) -> Contract:
    """Deploy and register a chain of those versions beside the contracts of today, by default with its own facets."""
    shared = facets or silent_facets(l1)
    settings = chain_settings(
        *(it.address for it in (l1.bridgehub, l1.manager, l1.timelock, l1.verifier, *shared)),
        chain_id=OTHER_CHAIN_ID,
        da=da,
    )
    chain = _deploy(l1, "ZKChain", settings)
    register(l1, chain, genesis_hash)
    return chain


def register(l1: Deployed, chain: Contract, genesis_hash: bytes) -> None:
    """Register a chain and its operator."""
    l1.engine.send(
        DEPLOYER, l1.bridgehub, "registerChain",
        OTHER_CHAIN_ID, l1.manager.address, chain.address, asset_id(ETH_TOKEN), genesis_hash,
    )  # fmt: skip
    l1.engine.send(DEPLOYER, l1.timelock, "addValidator", chain.address, OPERATOR)


def steps_of_silent_version(deployment: Deployment) -> list[DeploymentStep]:
    """Return the transactions by which those versions made a deployment."""
    return [_silent(it) for it in deployment.steps()]


def _silent(step: DeploymentStep) -> DeploymentStep:
    name = step.description.removeprefix("deploy ")
    if name not in _DROPPED:
        return step
    arguments = step.data[len(artifact(name).bytecode) :]
    return step._replace(data=_creation_code(name, arguments))


def _creation_code(name: str, arguments: bytes) -> bytes:
    code = lzma.decompress(Path(__file__).with_name(f"{name}-2026-11-18.bin.xz").read_bytes())
    return code + arguments[: len(arguments) - _DROPPED[name] * _WORD]


def _deploy(l1: Deployed, name: str, *arguments: object) -> Contract:
    known = find(name)
    (constructor,) = [it for it in known.abi if it["type"] == "constructor"]
    encoded = abi.encode(types(constructor["inputs"]), arguments)
    contract = Contract(create_address(DEPLOYER, l1.engine.nonce(DEPLOYER)), known)
    l1.engine.send_data(DEPLOYER, None, _creation_code(name, encoded))
    return contract
