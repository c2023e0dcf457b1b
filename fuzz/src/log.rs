//! Checksums of etcd's files, corrected after a mutation so that the code behind them is reached.

/// The kind of a record that names a raft snapshot.
pub const SNAPSHOT_RECORD: u64 = 5;

/// A record of a write-ahead log: its kind and its data.
pub type Record = (u64, Vec<u8>);

/// The records of a log file, as far as their frames lead.
pub fn records(log: &[u8]) -> Vec<Record> {
    let (mut at, mut records) = (0, Vec::new());
    while let Some(frame) = log.get(at..at + 8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).filter(|&frame| frame != 0) {
        let start = at + 8;
        let end = start.saturating_add((frame & ((1 << 56) - 1)) as usize);
        let Some(bytes) = log.get(start..end) else { break };
        records.extend(record(bytes));
        at = end + if frame >> 63 == 1 { (frame >> 56 & 7) as usize } else { 0 };
    }
    records
}

/// Reads `walpb.Record {1 type, 2 crc, 3 data}`.
fn record(mut bytes: &[u8]) -> Option<Record> {
    let (mut kind, mut data) = (0, Vec::new());
    while !bytes.is_empty() {
        match varint(&mut bytes)? {
            0x08 => kind = varint(&mut bytes)?,
            0x10 => drop(varint(&mut bytes)?),
            0x1a => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                data = bytes.get(..length)?.to_vec();
                bytes = &bytes[length..];
            }
            _ => return None,
        }
    }
    Some((kind, data))
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn append_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A log file of these records, framed and chained anew.
pub fn file(records: &[Record]) -> Vec<u8> {
    let (mut log, mut crc) = (Vec::new(), 0);
    for (kind, data) in records {
        crc = crc32c::crc32c_append(crc, data);
        let mut record = vec![0x08];
        append_varint(&mut record, *kind);
        record.push(0x10);
        append_varint(&mut record, crc.into());
        if !data.is_empty() {
            record.push(0x1a);
            append_varint(&mut record, data.len() as u64);
            record.extend_from_slice(data);
        }
        let padding = record.len().next_multiple_of(8) - record.len();
        let frame = record.len() as u64 | if padding > 0 { (0x80 | padding as u64) << 56 } else { 0 };
        record.resize(record.len() + padding, 0);
        log.extend(frame.to_le_bytes());
        log.extend(record);
    }
    log.resize(log.len() + 512, 0);
    log
}

/// Chains the records of a log file anew; the file may be damaged.
pub fn mend(log: &mut Vec<u8>) {
    let records = records(log);
    if !records.is_empty() {
        *log = file(&records);
    }
}

/// Gives the meta pages of a database the checksums that hold.
pub fn mend_meta_pages(database: &mut [u8]) {
    const HEADER_BYTES: usize = 16;
    const CHECKED_BYTES: usize = 56;
    for at in [0, 4096] {
        let Some(meta) = database.get_mut(at + HEADER_BYTES..at + HEADER_BYTES + CHECKED_BYTES + 8) else { return };
        let sum = meta[..CHECKED_BYTES]
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        meta[CHECKED_BYTES..].copy_from_slice(&sum.to_le_bytes());
    }
}
