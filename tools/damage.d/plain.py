"""Damages that need no format: what disks, copies and transfers do. Each takes the bytes and what chance decides, and returns a damaged copy."""

SECTOR_BYTES = 512
PAGE_BYTES = 4096


def flipped(data, chance):
    """A bit."""
    copy = bytearray(data)
    copy[chance.randrange(len(copy))] ^= 1 << chance.randrange(8)
    return copy


def overwritten(data, chance):
    """Some bytes."""
    copy = bytearray(data)
    at = chance.randrange(len(copy))
    new = chance.randbytes(chance.choice([1, 2, 8, 64]))[: len(copy) - at]
    copy[at : at + len(new)] = new
    return copy


def cut(data, chance):
    """The end is missing, from a page's boundary on or from anywhere."""
    at = chance.randrange(len(data))
    return bytearray(data[: at // PAGE_BYTES * PAGE_BYTES if chance.random() < 0.5 else at])


def zeroed(data, chance):
    """A sector, a page or several are zeros."""
    copy = bytearray(data)
    at = chance.randrange(len(copy)) // SECTOR_BYTES * SECTOR_BYTES
    if chance.random() < 0.7:
        at = at // PAGE_BYTES * PAGE_BYTES
    length = min(chance.choice([SECTOR_BYTES, PAGE_BYTES, PAGE_BYTES, 4 * PAGE_BYTES]), len(copy) - at)
    copy[at : at + length] = bytes(length)
    return copy


def copied(data, chance):
    """A sector or a page lies in another's place, too."""
    copy = bytearray(data)
    unit = chance.choice([SECTOR_BYTES, PAGE_BYTES, PAGE_BYTES])
    units = max(1, len(copy) // unit)
    source, target = chance.randrange(units) * unit, chance.randrange(units) * unit
    piece = copy[source : source + unit]
    copy[target : target + len(piece)] = piece
    return copy[: len(data)]


DAMAGES = [flipped, overwritten, cut, zeroed, copied]
