"""Files whose bytes depend on nothing but what is in them."""

import gzip
import hashlib
import io
import os
import tarfile


class Failure(Exception):
    """What stopped the release, in a sentence for whoever started it."""


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def tar(entries, when):
    """Returns an archive of `entries`, (path, mode, bytes or None for a folder) each, owned by root and last changed at `when`."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as writer:
        for path, mode, data in entries:
            info = tarfile.TarInfo(path)
            info.mode, info.mtime, info.uname, info.gname = mode, when, "root", "root"
            if data is None:
                info.type = tarfile.DIRTYPE
                writer.addfile(info)
            else:
                info.size = len(data)
                writer.addfile(info, io.BytesIO(data))
    return archive.getvalue()


def gzipped(data):
    """Returns `data` compressed, without a name or a time."""
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=packed, mtime=0) as writer:
        writer.write(data)
    return packed.getvalue()


def write_sums(out):
    """Writes SHA256SUMS, as `sha256sum --check` reads it."""
    names = sorted(name for name in os.listdir(out) if name != "SHA256SUMS")
    write(f"{out}/SHA256SUMS", "".join(f"{sha256(read(f'{out}/{name}'))}  {name}\n" for name in names))
