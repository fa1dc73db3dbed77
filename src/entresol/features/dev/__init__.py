"""The features that only users of anvil and Hardhat need: checkpoints, reverts, state files, impersonation."""

from entresol.node.declaration import DeclaredFeature

FEATURE = DeclaredFeature(
    "dev",
    settings="entresol.features.dev.settings:DevConfig",
    load="entresol.features.dev.feature:DevFeature",
)
