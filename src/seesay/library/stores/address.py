"""The address of a library on a server, and what may be said of it: everything but the password."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from seesay.errors import SeesayError
from seesay.system import remote

SCHEMES = ("postgresql", "postgres")
_EXAMPLE = "postgresql://ada@photos.example.org/family"
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}", re.ASCII)


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """Where a library is on a server.

    Attributes:
        url: For libpq; it may hold a password.
        schema: The part of the database that holds the library's tables.
        name: The address as it may be shown.
        password: What must not be shown; empty where the address holds none.
    """

    url: str
    schema: str
    name: str
    password: str

    def __repr__(self) -> str:
        return f"Address({self.name!r})"

    def redact(self, text: str) -> str:
        """A text of the server or its driver, without the password and without the address that holds it."""
        text = text.replace(self.url, self.name)
        return text.replace(self.password, "***") if self.password else text


def is_address(location: object) -> bool:
    """Whether a library's place is a server and not a folder.

    Example:
        >>> is_address("postgresql://localhost/photos"), is_address("~/photos")
        (True, False)
    """
    return isinstance(location, str) and location.startswith(tuple(f"{scheme}:" for scheme in SCHEMES))


def read_address(url: str) -> Address:
    """An address as libpq knows them, and one thing more: `schema` names the library among several of a database.

    Raises:
        SeesayError: It is none.

    Example:
        >>> address = read_address("postgresql://ada:secret@db:5433/photos?schema=family")
        >>> address, address.schema
        (Address('postgresql://ada@db:5433/photos?schema=family'), 'family')
        >>> address.redact("no entry for ada:secret")
        'no entry for ada:***'
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError:
        # What went wrong is not told on: it may quote a password that was not written as an address wants it.
        raise SeesayError("the address of the library cannot be read", allowed=f"as in {_EXAMPLE}") from None
    if parts.scheme not in SCHEMES or not url.startswith(f"{parts.scheme}://"):
        raise SeesayError("the address of the library cannot be read", allowed=f"as in {_EXAMPLE}")
    schema = options.pop("schema", "seesay")
    if not _SCHEMA.fullmatch(schema):
        raise SeesayError(f"the schema of a library is {schema!r}", allowed="small letters, digits and _")
    shown: dict[str, str] = {key: options[key] for key in ("host", "port", "dbname", "user") if key in options}
    if schema != "seesay":
        shown["schema"] = schema
    user = f"{parts.username}@" if parts.username else ""
    place = parts.netloc.rpartition("@")[2]
    return Address(
        url=urlunsplit(parts._replace(query=urlencode(options))),
        schema=schema,
        name=urlunsplit(("postgresql", f"{user}{place}", parts.path, urlencode(shown, safe="/"), "")),
        password=unquote(parts.password or "") or options.get("password", ""),
    )


def check_folder(folder: Path) -> Path:
    """A folder to keep a library in, checked not to be an address: as a path, any address is the name of a folder.

    Raises:
        SeesayError: It is one. It is not repeated, since it may hold a password.

    Example:
        >>> check_folder(Path("photos/library"))
        PosixPath('photos/library')
        >>> check_folder(Path("postgresql://ada:secret@db/photos"))
        Traceback (most recent call last):
        seesay.errors.SeesayError: postgresql://… is no folder to keep a library in
          allowed: a folder on a disk, or a text such as 'postgresql://ada@photos.example.org/family'
    """
    if remote.is_remote(folder) or remote.looks_like_address(folder):
        raise SeesayError(
            f"{str(folder).partition(':')[0]}://… is no folder to keep a library in",
            allowed=f"a folder on a disk, or a text such as {_EXAMPLE!r}",
        )
    return folder


def refuse_password(location: str | None) -> str | None:
    """A library's place as it was typed on a command line, which everybody on the machine can read.

    Raises:
        SeesayError: It holds a password.
    """
    if location is not None and is_address(location) and read_address(location).password:
        raise SeesayError(
            "a password on the command line can be read by everybody on this machine",
            allowed="the password in SEESAY_LIBRARY, in PGPASSWORD or in ~/.pgpass",
            hint=f"--library '{read_address(location).name}'",
        )
    return location
