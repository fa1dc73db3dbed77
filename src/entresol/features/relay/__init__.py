"""The relay: executes bundles of other chains on an L2, and has L1 pay withdrawals, with a key of its own."""

from entresol.node.declaration import DeclaredFeature

FEATURE = DeclaredFeature(
    "relay",
    settings="entresol.features.relay.settings:RelayConfig",
    load="entresol.features.relay.feature:RelayFeature",
)
