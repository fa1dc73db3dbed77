"""What an execution is traced with: a tracer, and limits of its own."""

from __future__ import annotations

from typing import NamedTuple

from entresol._native import Limits, Tracer


class Tracing(NamedTuple):
    """A tracer, and the limits of the execution that it traces."""

    tracer: Tracer
    limits: Limits | None = None
