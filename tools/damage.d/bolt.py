"""Damages of a bbolt database: pages in other pages' places, older pages, and fields of its meta pages with checksums that fit.

bbolt v1.5.0, `internal/common/page.go` and `meta.go`: a page begins with its number (8 bytes), flags, count (2 each) and overflow (4); a meta page goes on
with magic, version, page size and flags (4 each), root (16), freelist, first unused page, transaction (8 each) and their FNV-1a sum.
"""

import hashlib
import struct

from plain import DAMAGES as PLAIN
from plain import PAGE_BYTES, SECTOR_BYTES

HEADER_BYTES, SHA256_BYTES = 16, 32
BRANCH, LEAF = 1, 2
META_FIELDS = {"magic": (0, 4), "version": (4, 4), "page size": (8, 4), "root": (16, 8), "freelist": (32, 8), "end": (40, 8), "transaction": (48, 8)}


def header(data, page):
    return struct.unpack_from("<QHHI", data, page * PAGE_BYTES)


def tree_pages(data, flags=(BRANCH, LEAF)):
    """The pages that begin with their own number."""
    pages = range(2, len(data) // PAGE_BYTES)
    return [page for page in pages if header(data, page)[0] == page and header(data, page)[1] in flags and header(data, page)[2]]


def signed(copy, page):
    """Writes a meta page's checksum anew."""
    at = page * PAGE_BYTES + HEADER_BYTES
    total = 0xCBF29CE484222325
    for byte in copy[at : at + 56]:
        total = (total ^ byte) * 0x100000001B3 % (1 << 64)
    struct.pack_into("<Q", copy, at + 56, total)


def meta(data, chance):
    """A field of one or both meta pages, with a checksum that fits; a snapshot's SHA-256 fits, too."""
    copy = bytearray(data)
    offset, length = META_FIELDS[chance.choice(list(META_FIELDS))]
    pages = chance.choice([[0], [1], [0, 1]])
    bit, small, kind = chance.randrange(8 * length), chance.randrange(1, 4), chance.randrange(3)
    for page in pages:
        at = page * PAGE_BYTES + HEADER_BYTES + offset
        value = int.from_bytes(copy[at : at + length], "little")
        value = [value ^ 1 << bit, value + small, max(0, value - small)][kind] % (1 << 8 * length)
        copy[at : at + length] = value.to_bytes(length, "little")
        signed(copy, page)
    if len(copy) % SECTOR_BYTES == SHA256_BYTES:
        copy[-SHA256_BYTES:] = hashlib.sha256(copy[:-SHA256_BYTES]).digest()
    return copy


def meta_swapped(data, chance):
    """One meta page in the other's place, or each in the other's."""
    copy = bytearray(data)
    first, second = copy[:PAGE_BYTES], copy[PAGE_BYTES : 2 * PAGE_BYTES]
    how = chance.randrange(3)
    if how != 1:
        copy[:PAGE_BYTES] = second
    if how != 0:
        copy[PAGE_BYTES : 2 * PAGE_BYTES] = first
    return copy


def misplaced(data, chance):
    """A page of the tree in another's place, with or without that one's number."""
    copy = bytearray(data)
    pages = tree_pages(data)
    source, target = chance.choice(pages), chance.choice(pages)
    copy[target * PAGE_BYTES : (target + 1) * PAGE_BYTES] = data[source * PAGE_BYTES : (source + 1) * PAGE_BYTES]
    if chance.random() < 0.7:
        struct.pack_into("<Q", copy, target * PAGE_BYTES, target)
    return copy


def first_key(data, page):
    place, length = struct.unpack_from("<II", data, page * PAGE_BYTES + HEADER_BYTES + 4)
    at = page * PAGE_BYTES + HEADER_BYTES + place
    return bytes(data[at : at + min(length, 8)])


def stale(data, chance):
    """A leaf, or a sector of it, is as it was before it was written last: another page that begins with the same key."""
    leaves = tree_pages(data, (LEAF,))
    versions = {}
    for page in leaves:
        versions.setdefault(first_key(data, page), []).append(page)
    several = [pages for pages in versions.values() if len(pages) > 1]
    source, target = chance.sample(chance.choice(several) if several else leaves, 2)
    old = bytearray(data[source * PAGE_BYTES : (source + 1) * PAGE_BYTES])
    struct.pack_into("<Q", old, 0, target)
    copy = bytearray(data)
    at, length = 0, PAGE_BYTES
    if chance.random() < 0.4:
        at, length = chance.randrange(PAGE_BYTES // SECTOR_BYTES) * SECTOR_BYTES, SECTOR_BYTES
    copy[target * PAGE_BYTES + at : target * PAGE_BYTES + at + length] = old[at : at + length]
    return copy


def page_header(data, chance):
    """The number, flags, count or overflow of a page."""
    copy = bytearray(data)
    at = chance.choice(tree_pages(data)) * PAGE_BYTES
    number, flags, count, overflow = struct.unpack_from("<QHHI", copy, at)
    how = chance.randrange(5)
    if how == 0:
        count = chance.randrange(count)
    elif how == 1:
        count += chance.randrange(1, 9)
    elif how == 2:
        flags = chance.choice([0, 1, 2, 4, 16, flags ^ 1 << chance.randrange(16)])
    elif how == 3:
        overflow ^= 1 << chance.randrange(4)
    else:
        number ^= 1 << chance.randrange(8)
    struct.pack_into("<QHHI", copy, at, number, flags, min(count, 0xFFFF), overflow)
    return copy


def element(data, chance):
    """A field of an element: where its key lies, how long key and value are, flags or the page below."""
    copy = bytearray(data)
    page = chance.choice(tree_pages(data))
    at = page * PAGE_BYTES + HEADER_BYTES + 16 * chance.randrange(header(data, page)[2]) + 4 * chance.randrange(4)
    if at + 4 <= len(copy):
        value = struct.unpack_from("<I", copy, at)[0]
        value = [value ^ 1 << chance.randrange(16), value + chance.randrange(-20, 20), chance.randrange(1 << 32)][chance.randrange(3)]
        struct.pack_into("<I", copy, at, value % (1 << 32))
    return copy


DAMAGES = [*PLAIN, meta, meta_swapped, misplaced, stale, page_header, element]
