from __future__ import annotations

import gc
import weakref

from entresol.errors.base import without_frames


class Held:
    """What a frame holds."""


def failed() -> tuple[ValueError, weakref.ref[Held]]:
    """Return an error whose frame leads back to it, and what that frame holds."""
    held, errors = Held(), list[ValueError]()
    try:
        try:
            dict[str, int]()["cause"]
        except KeyError as cause:
            raise ValueError("failed") from cause
    except ValueError as error:
        errors.append(error)
    return errors[0], weakref.ref(held)


def test_an_error_without_frames_holds_nothing_of_where_it_was_raised() -> None:
    gc.disable()
    try:
        error, held = failed()
        assert held() is not None
        assert without_frames(error) is error
        assert held() is None
    finally:
        gc.enable()
    assert str(error.__cause__) == "'cause'"


def test_an_error_that_is_its_own_cause_is_no_endless_one() -> None:
    error = ValueError("failed")
    error.__cause__ = error
    assert without_frames(error) is error
