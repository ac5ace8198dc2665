"""Strict reading of decoded data: a value of a wrong type, length or spelling is Malformed, and where."""

from collections.abc import Callable, Iterable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from cuvil_schema.errors import Malformed

T = TypeVar("T")
Rest = ParamSpec("Rest")
Read = Callable[Concatenate[object, str, Rest], T]

MAX_NAME = 255
MAX_TEXT = 65_536


def record(data: object, what: str, *keys: str) -> list[object]:
    """The values of a map that has exactly `keys`."""
    if not isinstance(data, dict):
        raise Malformed(f"{what} is {kind(data)}, not a map")
    unknown = sorted(data.keys() - set(keys))
    if unknown:
        raise Malformed(f"{what} has a field {unknown[0]!r} that the format does not have")
    missing = [key for key in keys if key not in data]
    if missing:
        raise Malformed(f"{what} lacks its field {missing[0]!r}")
    return [data[key] for key in keys]


def each(
    data: object, what: str, most: int, read: Read[Rest, T], *rest: Rest.args, **named: Rest.kwargs
) -> tuple[T, ...]:
    """A list of at most `most` items, every one read by `read(item, where, *rest)`."""
    if not isinstance(data, list):
        raise Malformed(f"{what} is {kind(data)}, not a list")
    if len(data) > most:
        raise Malformed(f"{what} has {len(data)} items, the format allows {most}")
    return tuple(read(item, f"{what}[{index}]", *rest, **named) for index, item in enumerate(data))


def table(
    data: object, what: str, most: int, read: Read[Rest, T], *rest: Rest.args, **named: Rest.kwargs
) -> dict[str, T]:
    """A map of at most `most` names, every value read by `read(value, where, *rest)`."""
    if not isinstance(data, dict):
        raise Malformed(f"{what} is {kind(data)}, not a map")
    if len(data) > most:
        raise Malformed(f"{what} has {len(data)} items, the format allows {most}")
    return {name(key, what): read(value, f"{what}[{key!r}]", *rest, **named) for key, value in data.items()}


def integer(data: object, what: str, low: int, high: int) -> int:
    if type(data) is not int:
        raise Malformed(f"{what} is {kind(data)}, not an integer")
    if not low <= data <= high:
        raise Malformed(f"{what} is {data}, outside {low}..{high}")
    return data


def text(data: object, what: str, most: int = MAX_TEXT) -> str:
    if not isinstance(data, str):
        raise Malformed(f"{what} is {kind(data)}, not a string")
    if len(data.encode()) > most:
        raise Malformed(f"{what} is longer than {most} bytes")
    return data


def name(data: object, what: str) -> str:
    """1 to 255 bytes of printable characters."""
    found = text(data, what, MAX_NAME)
    if not found or not found.isprintable():
        raise Malformed(f"{what} is {found!r}: a name is 1 to {MAX_NAME} bytes of printable characters")
    return found


def identifier(data: object, what: str) -> str:
    """A name that C takes too: ASCII letters, digits and `_`, a letter or `_` first."""
    found = name(data, what)
    if not (found.isascii() and found.isidentifier()):
        raise Malformed(f"{what} is {found!r}, not an ASCII identifier")
    return found


def label(data: object, what: str) -> str:
    """A name that is safe as one part of a path: ASCII letters, digits and `._+-`, a letter, digit or `_` first."""
    found = name(data, what)
    if not found.isascii() or found[0] in ".+-" or not all(char.isalnum() or char in "._+-" for char in found):
        raise Malformed(f"{what} is {found!r}: only ASCII letters, digits and ._+- may stand there")
    return found


def choice(data: object, what: str, choices: tuple[str, ...]) -> str:
    found = text(data, what)
    if found not in choices:
        raise Malformed(f"{what} is {found!r}, not one of {', '.join(choices)}")
    return found


class Named(Protocol):
    @property
    def name(self) -> str: ...


def unique(records: Iterable[Named], what: str) -> set[str]:
    """The names of `records`, no two equal."""
    seen: set[str] = set()
    for named in records:
        if named.name in seen:
            raise Malformed(f"{what} names {named.name!r} twice")
        seen.add(named.name)
    return seen


def kind(data: object) -> str:
    """What decoded data is, in the words of the format."""
    words = {dict: "a map", list: "a list", str: "a string", bytes: "bytes", bool: "a bool", int: "an integer"}
    return words.get(type(data), "null" if data is None else f"a {type(data).__name__}")
