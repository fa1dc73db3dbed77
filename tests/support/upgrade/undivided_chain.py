"""The contracts as versions until 17 November 2026 deployed them: a chain without facets, and no roots of others."""

from __future__ import annotations

import lzma
from pathlib import Path

from entresol.l1.deployment import ADDED_CONTRACTS, Deployment, SettlementContracts
from entresol.l1.deployment_steps import DeploymentStep

CREATED_AS = "deploy ZKChain"
_CREATIONS = 9
_ADDED = 5
"""Creations that follow today before the chain is registered: the facets and three others."""
_WORD = 32
_DROPPED = {
    # The facets, what ether costs, and whether the chain is for development.
    "ZKChain": 5,
    # The message root and what tells chains of each other.
    "Bridgehub": 2,
    "L1NativeTokenVault": 1,
}
"""How many arguments of today's constructors those had not."""
_ARGUMENTS = {"ZKChain": 22, "Bridgehub": 5, "L1NativeTokenVault": 2}


def creation_code(settings: bytes, name: str = "ZKChain") -> bytes:
    """Return the data of a creation; its settings are today's without the last ones."""
    code = Path(__file__).with_name(f"{name}-2026-11-17.bin.xz")
    return lzma.decompress(code.read_bytes()) + settings[: -_DROPPED[name] * _WORD]


def earlier(contracts: SettlementContracts) -> SettlementContracts:
    """Return the contracts of such a deployment; bytecode could not be published with the first of them."""
    return contracts.without(ADDED_CONTRACTS)


def steps_of_earlier_version(deployment: Deployment) -> list[DeploymentStep]:
    """Return the transactions by which those versions made a deployment of one chain."""
    steps = deployment.steps()
    return [*map(_earlier, steps[:_CREATIONS]), *steps[_CREATIONS + _ADDED :]]


def _earlier(step: DeploymentStep) -> DeploymentStep:
    name = step.description.removeprefix("deploy ")
    if name not in _DROPPED:
        return step
    return step._replace(data=creation_code(step.data[-_ARGUMENTS[name] * _WORD :], name))
