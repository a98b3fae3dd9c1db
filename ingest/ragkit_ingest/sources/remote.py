"""Files in a remote store: S3, GCS, Azure, SFTP and whatever else fsspec has a driver for.

fsspec does the work. Credentials are the driver's affair, and never part of an address: addresses
are stored.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, BinaryIO, Final, TypeVar, cast

from ragkit.errors import IngestError, NotFoundError, UsageError
from ragkit_ingest.sources.item import Stamp
from ragkit_ingest.sources.listing import Place
from ragkit_ingest.sources.options import SourceOptions
from ragkit_ingest.sources.single import Single
from ragkit_ingest.sources.sizes import read_bounded
from ragkit_ingest.sources.tree import Names
from ragkit_ingest.sources.walk import Folder

# What fsspec calls file systems and are none, or would read what another address names.
_OTHERS: Final = frozenset(
    "asynclocal async_wrapper asyncwrapper blockcache cached data dask dir file filecache generic"
    " http https libarchive local reference root simplecache tar zip".split()
)
_DRIVERS: Final = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "adl": "adlfs",
    "sftp": "paramiko",
    "ssh": "paramiko",
    "smb": "smbprotocol",
    "hdfs": "pyarrow",
    "oss": "ossfs",
    "webdav": "webdav4",
    "dropbox": "dropboxdrivefs",
    "box": "boxfs",
    "oci": "ocifs",
}
_HAS_PORT: Final = frozenset({"ftp", "hdfs", "sftp", "smb", "ssh", "webdav", "webhdfs", "lakefs"})
_SECRET_NAMES: Final = "sig|token|secret|password|credential|key"  # noqa: S105  names of parameters, no secret
_SECRET: Final = re.compile(
    rf"[?&](?:(?!{_SECRET_NAMES})[^=&?])*+(?:{_SECRET_NAMES})[^=&?]*+=", re.IGNORECASE
)
_MAX_REASON_CHARS: Final = 300
# What stores tell of a file: what changes whenever its content does, under whatever name, and what
# changes as a rule.
_TAGS: Final = frozenset(
    "etag md5 md5hash content_md5 checksum crc32c generation versionid version_id sha256".split()
)
_TRAITS: Final = frozenset(
    "size mtime modified last_modified lastmodified updated created ctime ino".split()
)

T = TypeVar("T")


class RemoteTree:
    """A folder in a remote store, as its driver shows it; `url` has no "/" at its end."""

    def __init__(self, driver: Any, url: str, path: str) -> None:
        self._driver = driver
        self._url = url
        self._path = path
        self._listed: dict[str, Mapping[str, Any]] = {}  # of the folder that was listed last

    @property
    def root(self) -> str:
        """Name the folder by its address."""
        return self._url

    def names(self, folder: str) -> Names:
        """List folders and files, a folder at a time: what the driver remembers is dropped."""
        path = self._full(folder)
        entries = _call_driver(lambda: list(self._driver.ls(path, detail=True)))
        _call_driver(lambda: self._driver.invalidate_cache(path))
        self._listed = {}
        names: dict[bool, set[str]] = {True: set(), False: set()}
        for entry in entries:
            full = str(entry.get("name", "")).rstrip("/")
            name = full.rpartition("/")[2]
            # A key such as a//b would show a folder in itself; a store may also show the folder.
            inside = full.lstrip("/") == f"{path}/{name}".lstrip("/")
            if name in {"", ".", ".."} or not inside:
                continue
            names[entry.get("type") == "directory"].add(name)
            self._listed[f"{path}/{name}".lstrip("/")] = entry
        return Names(sorted(names[True]), sorted(names[False] - names[True]))

    def uri(self, path: str) -> str:
        """Name a file by the address of the place and what is below it."""
        between = "" if self._url.endswith("/") else "/"
        return f"{self._url}{between}{path}" if path else self._url

    def read(self, path: str, max_bytes: int) -> bytes:
        """Read a file; of one that is too large only what shows that."""
        with self.open(path) as file:
            return read_bounded(file, max_bytes)

    def open(self, path: str) -> BinaryIO:
        """Open a file."""
        opened = _call_driver(lambda: self._driver.open(self._full(path), "rb"))
        return cast("BinaryIO", _Stream(opened))

    def stamp(self, path: str) -> Stamp | None:
        """Look at what the store tells of a file: with its folder's list, or of it alone."""
        full = self._full(path)
        info = self._listed.get(full.lstrip("/"))
        try:
            return _stamp(info if info is not None else self._info(full))
        except IngestError:
            return None

    def has(self, path: str) -> bool:
        """Say whether there is such a file. Raises IngestError where the store does not answer."""
        try:
            self._info(self._full(path))
        except IngestError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return False
            raise
        return True

    def _info(self, full: str) -> Mapping[str, Any]:
        """Ask the store of a file, and not what the driver remembers."""
        _call_driver(lambda: self._driver.invalidate_cache(full))
        return _call_driver(lambda: dict(self._driver.info(full)))

    def _full(self, path: str) -> str:
        return f"{self._path.rstrip('/')}/{path}" if path else self._path


class _Stream(io.RawIOBase):
    """A file of a driver's, whose errors are IngestErrors."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(_call_driver(lambda: self._file.seek(offset, whence)))

    def tell(self) -> int:
        return int(self._file.tell())

    def read(self, size: int = -1) -> bytes:
        """Read so much or, less, all that there is: drivers may give less at a time."""
        parts: list[bytes] = []
        while size and (part := bytes(_call_driver(partial(self._file.read, size)))):
            parts.append(part)
            size -= len(part) if size > 0 else 0
        return b"".join(parts)

    def readinto(self, buffer: Any) -> int:
        data = _call_driver(lambda: self._file.read(len(buffer)))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def remote(url: str, scheme: str, options: SourceOptions) -> Place:
    """Take a remote address as a place. Raises UsageError, NotFoundError."""
    check_address(url, scheme)
    driver, path = _opened(url, scheme)
    try:
        info = _call_driver(lambda: driver.info(path))
    except IngestError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise NotFoundError(f"There is no {url!r}: check the address.") from error
        raise UsageError(f"{url!r} cannot be reached: {error.reason}.") from error
    bare = scheme + "://" + url.partition("://")[2].rstrip("/")
    if info.get("type") == "directory":
        if options.title:
            raise UsageError(f"A title is for a single document: {url!r} is a folder.")
        return Folder(RemoteTree(driver, bare, path), options)
    folder, _, name = bare.rpartition("/")
    return Single(RemoteTree(driver, folder, path.rpartition("/")[0]), name, options)


def tree(url: str, scheme: str) -> RemoteTree:
    """Open a folder in a remote store, whether it is there or not. Raises UsageError."""
    check_address(url, scheme)
    driver, path = _opened(url, scheme)
    return RemoteTree(driver, url, path)


def check_address(url: str, scheme: str) -> None:
    """Refuse an address with credentials, which would be stored. Raises UsageError."""
    if "::" in url or scheme in _OTHERS:
        raise UsageError(f"{scheme}:// is no place to take files from: name the files' own place.")
    authority = url.partition("://")[2].partition("/")[0]
    user, _, host = authority.rpartition("@")
    port = host.rpartition(":")[2] if ":" in host else ""
    has_port = scheme in _HAS_PORT and (not port or port.isdecimal())
    if ":" in user or (":" in host and not has_port) or _SECRET.search(url):
        raise UsageError(
            f"The {scheme}:// address seems to hold credentials, which would be stored with every"
            " document: leave them out, and give them to the driver by its environment variables"
            " or configuration file."
        )


def _opened(url: str, scheme: str) -> tuple[Any, str]:
    """Find the driver for an address, and the path that it goes by there."""
    import fsspec

    try:
        fsspec.get_filesystem_class(scheme)
    except ValueError as error:
        raise UsageError(
            f"{scheme}:// is not known: give a path, -, http(s)://, s3://, gs://, az://, sftp://"
            " or what else fsspec has a driver for."
        ) from error
    except ImportError as error:
        package = _DRIVERS.get(scheme)
        remedy = f"pip install {package}" if package else " ".join(str(error).split())
        raise UsageError(f"{scheme}:// needs a driver that is not here: {remedy}.") from error
    try:
        driver, path = _call_driver(lambda: _connected(url, scheme))
    except IngestError as error:
        raise UsageError(f"{scheme}:// cannot be opened: {error.reason}.") from error
    return driver, str(path)


def _connected(url: str, scheme: str) -> tuple[Any, str]:
    import fsspec

    if scheme in {"sftp", "ssh"}:
        from ragkit_ingest.sources import sftp

        return sftp.opened(url)
    driver, path = fsspec.core.url_to_fs(url)
    return driver, path


def _stamp(info: Mapping[str, Any]) -> Stamp | None:
    """Make a stamp of what a store tells; None where a size is all."""
    named = sorted((str(key).lower(), value) for key, value in info.items() if value is not None)
    tags = [f"{key}={value}" for key, value in named if key in _TAGS]
    traits = [f"{key}={value}" for key, value in named if key in _TRAITS]
    if not tags and all(trait.startswith("size=") for trait in traits):
        return None
    return Stamp((*tags, *traits), is_exact=bool(tags))


def _call_driver(call: Callable[[], T]) -> T:
    """Ask a driver. Raises IngestError("read") for whatever goes wrong."""
    try:
        return call()
    except IngestError:
        raise
    except FileNotFoundError as error:
        raise IngestError("read", "it is not there any more") from error
    except Exception as error:  # a plug-in, which raises whatever its library does
        message = " ".join(str(error).split())[:_MAX_REASON_CHARS]
        raise IngestError("read", f"{type(error).__name__}: {message}".rstrip(": ")) from error
