"""The URLs of a fork: names of them, the block that one pins, and headers; no error repeats what may be secret."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.errors import InvalidConfig
from entresol.l1.urls import Endpoint, is_http_url
from entresol.node.config.setting import PREFIX, shown_name
from entresol.node.config.toml_file import MAX_FILE_BYTES, read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAMED: Final = f"{PREFIX}FORK_"
"""How the variables begin that have the URL of a name."""
PROJECT_FILE: Final = "foundry.toml"
MAX_URLS: Final = 32
MAX_HEADERS: Final = 32
MAX_HEADER_LENGTH: Final = 8192
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_PINNED: Final = re.compile(r"(?P<url>.+)@(?P<block>-?[0-9]{1,18})")
_VARIABLE: Final = re.compile(r"\$\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\x20-\x7e\x80-\xff\t]*")


class PinnedUrls(NamedTuple):
    """The URLs of a fork, and the block that they pin, if they do."""

    urls: tuple[str, ...]
    block: int | None


def resolve_urls(
    given: Sequence[str],
    flag: str,
    environment: Mapping[str, str],
    folder: Path,
    *,
    is_offline: bool = False,
) -> PinnedUrls:
    """Return the URLs that a flag gives, by themselves or by names; `folder` is where foundry.toml is looked for.

    A fork without a network needs none, and so no name that means one: only the block that they pin counts.
    """
    if len(given) > MAX_URLS:
        raise InvalidConfig(flag, f"at most {MAX_URLS} URLs, got {len(given)}")
    urls, blocks = [], set()
    for text in given:
        pinned = _PINNED.fullmatch(text)
        bare = text if pinned is None else pinned["url"]
        if pinned is not None:
            blocks.add(int(pinned["block"]))
        if not is_offline:
            urls.append(_url(bare, flag, environment, folder))
    if len(blocks) > 1:
        shown = ", ".join(map(str, sorted(blocks)))
        raise InvalidConfig(flag, f"the URLs pin different blocks: {shown}")
    return PinnedUrls(tuple(urls), next(iter(blocks), None))


def parse_headers(given: Sequence[str], flag: str) -> tuple[tuple[str, str], ...]:
    """Return names and values of headers; an error says which one is wrong by its position."""
    if len(given) > MAX_HEADERS:
        raise InvalidConfig(flag, f"at most {MAX_HEADERS} headers, got {len(given)}")
    return tuple(_header(text, flag, number) for number, text in enumerate(given, 1))


def names_url(name: str, value: str) -> bool:
    """Return whether a variable is the URL of a name, and so not a setting that is misspelled."""
    return name.startswith(NAMED) and is_http_url(value)


def _header(text: str, flag: str, number: int) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    name, value = name.strip(), value.strip()
    if not colon or _HEADER_NAME.fullmatch(name) is None:
        raise InvalidConfig(flag, f'header {number} should be "NAME: VALUE"')
    if _HEADER_VALUE.fullmatch(value) is None or len(text) > MAX_HEADER_LENGTH:
        raise InvalidConfig(
            flag, f"the value of header {number} is too long, or has other characters"
        )
    return name, value


def _url(text: str, flag: str, environment: Mapping[str, str], folder: Path) -> str:
    if is_http_url(text):
        return text
    if _NAME.fullmatch(text) is not None:
        return _named_url(text, flag, environment, folder)
    if "://" in text:
        shown = Endpoint(text).redacted
        raise InvalidConfig(flag, f"{shown} should begin with http:// or https://, and name a host")
    raise InvalidConfig(flag, "should be a URL with http:// or https://, or the name of one")


def _named_url(name: str, flag: str, environment: Mapping[str, str], folder: Path) -> str:
    """Look up a name in the project's foundry.toml, then in the environment."""
    variable = f"{NAMED}{name.upper().replace('-', '_')}"
    file = _project_file(folder)
    found = None if file is None else _of_project(file, name, flag, environment)
    url = environment.get(variable) if found is None else found
    where = variable if found is None else f"{name} in [rpc_endpoints] of {file}"
    if url is None:
        missing = PROJECT_FILE if file is None else str(file)
        raise InvalidConfig(
            flag,
            f"there is no {name} in [rpc_endpoints] of {missing}, and no variable {variable}; or give a URL",
        )
    if not is_http_url(url):
        raise InvalidConfig(flag, f"{where} should begin with http:// or https://, and name a host")
    return url


def _project_file(folder: Path) -> Path | None:
    """Return the foundry.toml of a folder, or of the nearest one above it."""
    candidates = (parent / PROJECT_FILE for parent in (folder, *folder.parents))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _of_project(file: Path, name: str, flag: str, environment: Mapping[str, str]) -> str | None:
    try:
        document = read_toml(file, flag)
    except InvalidConfig:
        problem = f"{file} cannot be read as TOML of at most {MAX_FILE_BYTES:,} bytes"
        raise InvalidConfig(flag, problem) from None
    endpoints = document.get("rpc_endpoints")
    if endpoints is None:
        profiles = document.get("profile")
        default = profiles.get("default") if isinstance(profiles, dict) else None
        endpoints = default.get("rpc_endpoints") if isinstance(default, dict) else None
    entry = endpoints.get(name) if isinstance(endpoints, dict) else None
    if isinstance(entry, dict):
        entry = entry.get("endpoint", entry.get("url"))
    if not isinstance(entry, str):
        return None
    missing = [name for name in _VARIABLE.findall(entry) if name not in environment]
    if missing:
        raise InvalidConfig(flag, f"{name} in {file} needs the variable {shown_name(missing[0])}")
    return _VARIABLE.sub(lambda found: environment[found[1]], entry)
