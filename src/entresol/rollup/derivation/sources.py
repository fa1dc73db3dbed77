"""Who has of a chain what L1 has not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from entresol.rollup.derivation.edit_fetcher import EditFetcher
    from entresol.rollup.derivation.snapshot import BatchSnapshot


class DerivationSources(NamedTuple):
    """What may be asked beside L1; all of it is compared with what L1 says."""

    edits: EditFetcher | None = None
    """Edits of which L1 has only the hash."""
    snapshot: BatchSnapshot | None = None
    """A batch that cannot be derived, and that L1 has executed."""


L1_ALONE: Final = DerivationSources()
