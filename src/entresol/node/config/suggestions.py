"""Messages about a wrong word, value or key of a configuration, in the words of people, and what was meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from entresol.node.config.setting import MAX_SHOWN, PREFIX, Setting, redact, shown_name, shown_text

_EXPECTED: Final = re.compile(r"Expected `([^`]+)`(?: (<=|>=|<|>) (\S+))?(?:, got `\w+`)?")
_KINDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "array": "a list",
    "object": "a table",
}
_BOUNDS: Final = {"<=": "of at most", ">=": "of at least", "<": "below", ">": "above"}


def none_of(word: str, choices: Iterable[str]) -> str:
    """Return the problem of a word that is not among the choices: the nearest, and all of them."""
    expected = tuple(choices)
    nearest = similar(word, expected)
    hint = f"did you mean {nearest}? " if nearest else ""
    return f"{shown_text(word)} is not known; {hint}choose one of {', '.join(expected)}"


def similar(word: str, choices: Iterable[str]) -> str | None:
    """Return the choice that is nearest to a word; None if none is near."""
    import difflib  # noqa: PLC0415  # only errors need it

    return next(iter(difflib.get_close_matches(word, tuple(choices), 1)), None)


def unknown_variables(
    settings: Iterable[Setting], environment: Mapping[str, str]
) -> Iterable[tuple[str, str]]:
    """Yield the variables that look like settings and are none, each with what was probably meant."""
    known = {setting.variable for setting in settings}
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            nearest = similar(
                name.removeprefix(PREFIX), [other.removeprefix(PREFIX) for other in known]
            )
            hint = f"did you mean {PREFIX}{nearest}?" if nearest else "it is ignored"
            yield shown_name(name), f"there is no such setting; {hint}"


def wrong_value(problem: str, value: Any, metavar: str | None = None, factor: int = 1) -> str:
    """Return msgspec's problem with a value as a sentence that has the value, in units of the flag.

    The placeholder of the value in the help says what is expected where some words are accepted besides: `N|auto`.
    """
    found = _EXPECTED.fullmatch(problem)
    if metavar is not None and problem.startswith("Invalid enum value"):
        return f"expected {metavar}, got {_shown(value)}"
    if found is None:
        return problem
    types, comparison, bound = found.groups()
    kinds = [_KINDS.get(kind, kind) for kind in types.split(" | ") if kind != "null"]
    if "a number" in kinds and "a whole number" in kinds:
        kinds.remove("a whole number")
    expected = " or ".join(kinds)
    if comparison is None:
        return f"expected {expected}, got {_shown(value)}"
    # A flag gives a number as text, and it is one if only a bound is broken.
    bound, shown = bound.removesuffix(".0"), redact(str(value))
    if factor != 1:
        bound, shown = (f"{float(number) * factor:.15g}" for number in (bound, shown))
    return f"expected {expected} {_BOUNDS[comparison]} {bound}, got {shown}"


def value_at(values: Mapping[str, Any], path: str) -> Any:
    """Return the value that a path of msgspec leads to: `chain.abi[0]`; None if there is none."""
    found: Any = values
    for part in re.findall(r"\w+", path):
        try:
            found = found[int(part) if isinstance(found, list | tuple) else part]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return found


def unknown_key(key: str, settings: Iterable[Setting]) -> str:
    """Return the problem of a key of a file that is not a setting: where it belongs, the nearest, or those there are."""
    sections: dict[str, list[str]] = {}
    for setting in settings:
        sections.setdefault(setting.section, []).append(setting.name)
    section, _, name = key.rpartition(".")
    if not section and key in sections:
        return f"it is a section: write [{key}], and its settings below it"
    for other, names in sections.items():
        if name in names:
            return f"there is no such setting; did you mean {other}.{name}?"
    if section in sections:
        nearest = similar(name, sections[section])
        if nearest is not None:
            return f"there is no such setting; did you mean {section}.{nearest}?"
        return f"there is no such setting; [{section}] has {', '.join(sections[section])}"
    nearest = similar(
        key, [f"{other}.{name}" for other, names in sections.items() for name in names]
    )
    if nearest is not None:
        return f"there is no such setting; did you mean {nearest}?"
    return f"there is no such section; there are {', '.join(sections)}"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple | dict):
        # The words of a mnemonic are a list, too.
        return _KINDS["object" if isinstance(value, dict) else "array"]
    text = shown_text(value) if isinstance(value, str) else redact(repr(value))
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"
