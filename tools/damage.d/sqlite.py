"""Damages of a SQLite database and its write-ahead log: fields of headers, older pages, and frames with checksums that fit again.

https://www.sqlite.org/fileformat2.html: the header of the database (1.3), of a page of a tree (1.6), and the log's header and frames (4.1, 4.2).
"""

import struct

from plain import DAMAGES as PLAIN
from plain import SECTOR_BYTES

HEADER_BYTES, FRAME_HEADER_BYTES = 32, 24


def page_bytes(data):
    size = struct.unpack_from(">H", data, 16)[0]
    return 65536 if size == 1 else size


def header(data, chance):
    """A field of the database's header: sizes, formats, counters, the freelist, the schema's version."""
    copy = bytearray(data)
    at = chance.choice([16, 18, 19, 20, 24, 28, 32, 36, 40, 44, 52, 56, 92])
    copy[at + chance.randrange(1 if at in (18, 19, 20) else 2 if at == 16 else 4)] ^= 1 << chance.randrange(8)
    return copy


def trees(data):
    """The pages that begin as a page of a tree."""
    size = page_bytes(data)
    return [page for page in range(1, len(data) // size) if data[page * size] in (2, 5, 10, 13)]


def page_header(data, chance):
    """A field of a tree's page: its kind, free blocks, cells, where they begin, or a cell's place."""
    copy = bytearray(data)
    at = chance.choice(trees(data)) * page_bytes(data)
    field = chance.choice([0, 1, 3, 3, 5, 7, 8])
    if field == 3:
        cells = struct.unpack_from(">H", copy, at + 3)[0]
        struct.pack_into(">H", copy, at + 3, max(0, cells + chance.randrange(-3, 4)))
    else:
        copy[at + field + chance.randrange(1 if field in (0, 7) else 2)] ^= 1 << chance.randrange(8)
    return copy


def misplaced(data, chance):
    """A page of a tree in another's place: of the same kind, as where an older one was left there."""
    size, pages = page_bytes(data), trees(data)
    target = chance.choice(pages)
    source = chance.choice([page for page in pages if data[page * size] == data[target * size]])
    copy = bytearray(data)
    at, length = 0, size
    if chance.random() < 0.3:
        at, length = chance.randrange(size // SECTOR_BYTES) * SECTOR_BYTES, SECTOR_BYTES
    copy[target * size + at : target * size + at + length] = data[source * size + at : source * size + at + length]
    return copy


def frames(log):
    """Where the frames begin that count: those of the newest salt, up to the end."""
    size = FRAME_HEADER_BYTES + struct.unpack_from(">I", log, 8)[0]
    whole = range(HEADER_BYTES, len(log) - size + 1, size)
    return [at for at in whole if log[at + 8 : at + 16] == log[16:24]], size


def salted(log, chance):
    """A field of a frame's header: its page, the size of the database, the salts, the checksum."""
    copy = bytearray(log)
    at = chance.choice(frames(log)[0])
    copy[at + chance.randrange(FRAME_HEADER_BYTES)] ^= 1 << chance.randrange(8)
    return copy


def start(log, chance):
    """The log's header, with or without a checksum that fits. One that fits other salts is that of a log which was begun anew: every frame is void."""
    copy = bytearray(log)
    at = chance.randrange(24)
    copy[at] ^= 1 << chance.randrange(8)
    if at < 16 and chance.random() < 0.5:
        order = ">" if copy[3] & 1 else "<"
        copy[24:32] = struct.pack(">II", *summed(order, copy[:24], 0, 0))
    return copy


def summed(order, data, first, second):
    for one, other in struct.iter_unpack(f"{order}II", data):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second


def stale(log, chance):
    """A frame's page is as it was in an older frame of the same page, with the checksum of the newer one."""
    copy = bytearray(log)
    begins, size = frames(log)
    versions = {}
    for at in begins:
        versions.setdefault(log[at : at + 4], []).append(at)
    several = [places for places in versions.values() if len(places) > 1]
    source, target = chance.sample(chance.choice(several) if several else begins, 2)
    copy[target + FRAME_HEADER_BYTES : target + size] = log[source + FRAME_HEADER_BYTES : source + size]
    return copy


def ended(log, chance):
    """The log ends with a frame."""
    return bytearray(log[: chance.choice(frames(log)[0])])


DAMAGES = [*PLAIN, header, page_header, page_header, misplaced, misplaced]
WAL_DAMAGES = [*PLAIN, salted, start, stale, ended]
