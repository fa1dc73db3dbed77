"""Read a TOML file within limits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from entresol.bounded_file import read_file
from entresol.errors import InvalidConfig
from entresol.node.config.setting import shown_message

if TYPE_CHECKING:
    from pathlib import Path

MAX_FILE_BYTES: Final = 128 << 10
"""Bytes of a TOML file, of which the worst takes less than half a second to read."""
MAX_KEY_PARTS: Final = 6
"""Parts of a key, which are separated by dots: the time to read one grows with their square."""

_PART: Final = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_LONG_KEY: Final = re.compile(rf"(?<![\w-])(?:{_PART}\.[ \t]*+){{{MAX_KEY_PARTS}}}{_PART}")


def read_toml(path: Path, flag: str) -> dict[str, Any]:
    """Return the document of a file that `flag` names or needs; errors name the file."""
    import tomllib  # noqa: PLC0415 - only a file needs it

    try:
        text = read_file(path, MAX_FILE_BYTES).decode()
        if _LONG_KEY.search(text):
            problem = f"a key has at most {MAX_KEY_PARTS} parts ({flag})"
            raise InvalidConfig(str(path), problem)
        return tomllib.loads(text)
    except OSError as error:
        raise InvalidConfig(str(path), f"{error.strerror or error} ({flag})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidConfig(str(path), shown_message(str(error))) from error
    except ValueError as error:
        # A number of thousands of digits: Python's text is about how Python reads more.
        raise InvalidConfig(str(path), "a number has too many digits") from error
    except RecursionError as error:
        raise InvalidConfig(str(path), "its lists or tables are nested too deeply") from error
