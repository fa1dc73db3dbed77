"""Several processes that serve one node: the producer, and workers that follow it (`--workers`)."""

from entresol.node.declaration import DeclaredFeature

FEATURE = DeclaredFeature("workers", settings="entresol.features.workers.settings:WorkersConfig")
