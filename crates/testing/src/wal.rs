//! The records of a write-ahead log's file, read and written apart from ketcd.

/// `walpb.Record`.
#[derive(Clone, PartialEq, prost::Message)]
struct WalRecord {
    #[prost(uint64, tag = "1")]
    kind: u64,
    #[prost(uint32, tag = "2")]
    crc: u32,
    #[prost(bytes = "vec", tag = "3")]
    data: Vec<u8>,
}

/// The kind of a record that holds an entry.
pub const ENTRY_RECORD: u64 = 2;

/// Returns the records of a log file: kind, data.
pub fn records(log: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let (mut at, mut records) = (0, Vec::new());
    while let Some(bytes) = log.get(at..at + 8) {
        let frame = u64::from_le_bytes(bytes.try_into().unwrap());
        let length = (frame & ((1 << 56) - 1)) as usize;
        let Some(record) = log.get(at + 8..at + 8 + length).filter(|_| frame != 0) else { break };
        let Ok(record) = <WalRecord as prost::Message>::decode(record) else { break };
        records.push((record.kind, record.data));
        at += 8 + length + if frame >> 63 == 1 { (frame >> 56 & 7) as usize } else { 0 };
    }
    records
}

/// Returns a log file of these records, framed and chained anew.
pub fn log_of(records: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let (mut log, mut crc) = (Vec::new(), 0);
    for (kind, data) in records {
        crc = crc32c::crc32c_append(crc, data);
        let mut record = prost::Message::encode_to_vec(&WalRecord { kind: *kind, crc, data: data.clone() });
        let padding = record.len().next_multiple_of(8) - record.len();
        let frame = record.len() as u64 | if padding > 0 { (0x80 | padding as u64) << 56 } else { 0 };
        record.resize(record.len() + padding, 0);
        log.extend(frame.to_le_bytes());
        log.extend(record);
    }
    log.resize(log.len() + 4096, 0);
    log
}

/// Returns the log without its first `dropped` entries.
pub fn without_first(records: &[(u64, Vec<u8>)], dropped: usize) -> Vec<u8> {
    let mut entries = 0;
    let kept = records.iter().filter(|(kind, _)| {
        entries += usize::from(*kind == ENTRY_RECORD);
        *kind != ENTRY_RECORD || entries > dropped
    });
    log_of(&kept.cloned().collect::<Vec<_>>())
}
