"""The debugger: what a transaction executed, by the lines of its sources."""

from entresol.node.declaration import DeclaredFeature

FEATURE = DeclaredFeature(
    "debugger",
    settings="entresol.features.debugger.settings:DebuggerConfig",
    load="entresol.features.debugger.feature:DebuggerFeature",
    commands=("gas-report",),
)
