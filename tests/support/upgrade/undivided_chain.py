"""The contract of a chain as versions until 17 November 2026 deployed it: without facets."""

from __future__ import annotations

import lzma
from pathlib import Path

from entresol.l1.deployment import Deployment
from entresol.l1.deployment_steps import DeploymentStep

CREATED_AS = "deploy ZKChain"
_CODE = Path(__file__).with_name("ZKChain-2026-11-17.bin.xz")


def creation_code(settings: bytes) -> bytes:
    """Return the data of its creation; its settings are today's without the last four, of which two are the facets."""
    return lzma.decompress(_CODE.read_bytes()) + settings[: -4 * 32]


def steps_of_earlier_version(deployment: Deployment) -> list[DeploymentStep]:
    """Return the transactions by which those versions made a deployment."""
    return [_undivided(it) if it.description == CREATED_AS else it for it in deployment.steps()]


def _undivided(step: DeploymentStep) -> DeploymentStep:
    settings_size = 21 * 32
    return step._replace(data=creation_code(step.data[-settings_size:]))
