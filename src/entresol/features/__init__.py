"""Features: each adds methods, pages or parts to a node, and can be left out."""

from typing import Final

LOADED: Final = {
    "debugger": "entresol.features.debugger.feature:DebuggerFeature",
    "tracing": "entresol.features.tracing.feature:TracingFeature",
    "explorer": "entresol.features.explorer.feature:ExplorerFeature",
    "dev": "entresol.features.dev.feature:DevFeature",
    "adding": "entresol.features.adding.feature:AddingFeature",
    "relay": "entresol.features.relay.feature:RelayFeature",
}
"""The features of every node, in the order in which its hooks are called, with the class of each."""
