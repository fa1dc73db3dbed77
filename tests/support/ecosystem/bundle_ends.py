"""The ends of bundles, by the events of their destinations, and by what these say of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from entresol.inprocess.bridge import Bridge
from entresol.inprocess.interop.bundle import BundleStatus, SentBundle


def check_ends(bridges: Sequence[Bridge], bundles: Mapping[bytes, SentBundle]) -> None:
    """Assert that each bundle was executed exactly once, whole, or unbundled, and each call processed exactly once."""
    handlers = [bridge.interop_handler.events for bridge in bridges]
    executed = Counter(name for handler in handlers for name in _named(handler.BundleExecuted))
    unbundled = {name for handler in handlers for name in _named(handler.BundleUnbundled)}
    calls: Counter[tuple[bytes, int]] = Counter()
    for handler in handlers:
        for event in handler.CallProcessed().get_logs(from_block=0):
            calls[bytes(event["args"]["bundleHash"]), event["args"]["callIndex"]] += 1
    assert executed.keys() | unbundled == bundles.keys()
    assert not executed.keys() & unbundled
    assert set(executed.values()) <= {1}
    assert set(calls.values()) <= {1}
    for name, bundle in bundles.items():
        expected = BundleStatus.EXECUTED if name in executed else BundleStatus.UNBUNDLED
        assert bundle.status is expected
        assert all(calls[name, at] for at in range(len(bundle.bundle.calls)))


def _named(event: Any) -> list[bytes]:
    return [bytes(log["args"]["bundleHash"]) for log in event().get_logs(from_block=0)]
