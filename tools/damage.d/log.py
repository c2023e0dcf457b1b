"""Damages of a member's write-ahead log: what disks do to it, and records that are changed or missing with checksums that fit again.

etcd v3.7.3, `server/storage/wal/encoder.go`: a frame of 8 bytes (length of the record in the lower 56 bits, of its padding in the upper ones), a record of
protobuf (kind, CRC-32C of all data up to it, data), and its padding.
"""

import struct

from plain import DAMAGES as PLAIN
from plain import SECTOR_BYTES

ENTRY, STATE = 2, 3


def written(data):
    return len(data.rstrip(b"\0"))


def inside(damage):
    """The damage, of what was written of the log: its end is zeros."""

    def damages(data, chance):
        end = -(-written(data) // SECTOR_BYTES) * SECTOR_BYTES
        copy = damage(data[:end], chance)
        return copy if len(copy) < end else copy + data[end:]

    damages.__name__ = damage.__name__
    return damages


def crc_table():
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
        table.append(number)
    return table


CRC_TABLE = crc_table()


def crc(total, data):
    total ^= 0xFFFFFFFF
    for byte in data:
        total = CRC_TABLE[(total ^ byte) & 0xFF] ^ total >> 8
    return total ^ 0xFFFFFFFF


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def frames(data):
    """Where each record's frame begins and ends."""
    at = 0
    while at + 8 <= len(data):
        frame = struct.unpack_from("<Q", data, at)[0]
        if not frame:
            return
        end = at + 8 + (frame & (1 << 56) - 1) + (frame >> 56 & 7 if frame >> 63 else 0)
        yield at, end
        at = end


def length(data, chance):
    """The length that a frame gives."""
    copy = bytearray(data)
    at, _ = chance.choice(list(frames(data)))
    copy[at] ^= 8 << chance.randrange(5)
    return copy


def torn(data, chance):
    """The log ends amid a record, and zeros follow, as where a machine lost its power while it wrote."""
    copy = bytearray(data)
    begin, end = chance.choice(list(frames(data)))
    at = min(end - 1, -(-(begin + 1) // SECTOR_BYTES) * SECTOR_BYTES)
    copy[at:] = bytes(len(copy) - at)
    return copy


def ended(data, chance):
    """The log ends with a record, and zeros follow: the last writes did not reach the disk."""
    copy = bytearray(data)
    at, _ = chance.choice(list(frames(data))[2:])
    copy[at:] = bytes(len(copy) - at)
    return copy


def dropped(data, chance):
    """A record is missing, and the rest moved up. Its checksum counts for all that follow."""
    begin, end = chance.choice(list(frames(data)))
    return bytearray(data[:begin] + data[end:] + bytes(end - begin))


def stale(data, chance):
    """A sector holds what another one held."""
    copy = bytearray(data)
    sectors = written(data) // SECTOR_BYTES
    source, target = chance.randrange(sectors) * SECTOR_BYTES, chance.randrange(sectors) * SECTOR_BYTES
    copy[target : target + SECTOR_BYTES] = data[source : source + SECTOR_BYTES]
    return copy


def mended(data, chance):
    """The last entry or state before the end is missing or written twice, with checksums that fit: the tail is written anew."""
    all_frames = list(frames(data))
    kept = all_frames[: -chance.randrange(3, 40)]
    records = [record(data, begin) for begin, _ in all_frames[len(kept) :]]
    place = chance.randrange(len(records))
    if chance.random() < 0.5:
        del records[place]
    else:
        records.insert(place, records[place])
    total, tail = record(data, kept[-1][0])[1], bytearray()
    for kind, _, payload in records:
        total = crc(total, payload)
        tail += framed(kind, total, payload)
    copy = bytearray(data[: kept[-1][1]]) + tail
    return copy + bytes(max(0, len(data) - len(copy)))


def record(data, begin):
    """A record's kind, checksum and data."""
    frame = struct.unpack_from("<Q", data, begin)[0]
    at, end = begin + 8, begin + 8 + (frame & (1 << 56) - 1)
    kind = total = 0
    payload = b""
    while at < end:
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag == 0x08:
            kind = value
        elif tag == 0x10:
            total = value
        else:
            payload, at = bytes(data[at : at + value]), at + value
    return kind, total, payload


def number(value):
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def framed(kind, total, payload):
    body = b"\x08" + number(kind) + b"\x10" + number(total) + b"\x1a" + number(len(payload)) + payload
    padding = -len(body) % 8
    return struct.pack("<Q", len(body) | ((0x80 | padding) << 56 if padding else 0)) + body + bytes(padding)


DAMAGES = [*map(inside, PLAIN), length, torn, ended, dropped, stale, mended]
