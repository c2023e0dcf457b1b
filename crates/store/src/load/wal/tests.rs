//! Any bytes are survived.

use bytes::Bytes;
use proptest::prelude::*;
use prost::Message;

use super::record::{Next, Records};
use super::request::{Request, operations};
use crate::proto::etcdserverpb::request_op::Request as Operation;
use crate::proto::etcdserverpb::{InternalRaftRequest, PutRequest, RequestOp, TxnRequest};

/// Reads all records of `file`; returns how many held.
fn records(file: &[u8], is_last_file: bool) -> usize {
    let file = Bytes::copy_from_slice(file);
    let (mut records, mut held) = (Records::new(&file, 0, is_last_file), 0);
    for _ in 0..=file.len() / 8 {
        match records.next() {
            Next::Record(record) => {
                // The data are in the file, not a copy of it.
                assert!(record.data.is_empty() || file.as_ptr_range().contains(&record.data.as_ptr()));
                held += 1;
            }
            Next::Damaged { goes_on: true, .. } => {}
            Next::Damaged { goes_on: false, .. } | Next::End | Next::Torn => return held,
        }
    }
    panic!("more records than fit");
}

/// The bytes of a record: type 2, its CRC, its data; framed and padded.
fn framed(crc: u32, data: &[u8]) -> Vec<u8> {
    let mut record = vec![0x08, 2, 0x10];
    let mut rest = crc;
    while rest >= 0x80 {
        record.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    record.extend([rest as u8, 0x1a, data.len() as u8]);
    record.extend(data);
    let padding = record.len().next_multiple_of(8) - record.len();
    let frame = record.len() as u64 | if padding > 0 { (0x80 | padding as u64) << 56 } else { 0 };
    record.resize(record.len() + padding, 0);
    [frame.to_le_bytes().to_vec(), record].concat()
}

#[test]
fn a_torn_record_ends_a_log_and_a_damaged_one_does_not() {
    let (one, two) = (crc32c::crc32c(b"one"), crc32c::crc32c_append(crc32c::crc32c(b"one"), b"two"));
    let log = [framed(one, b"one"), framed(two, b"two"), vec![0; 64]].concat();
    assert_eq!(records(&log, true), 2);
    let mut damaged = log.clone();
    let data = log.windows(3).position(|bytes| bytes == b"one").unwrap();
    damaged[data] ^= 1;
    assert_eq!(records(&damaged, false), 1);
    assert_eq!(records(&log[..log.len() - 64 - 4], true), 1);
}

/// A record that says a wrong length, or nothing but zeros, hides where the next one begins.
#[test]
fn reading_goes_on_behind_a_record_without_a_length() {
    let mut crc = 0;
    let records_of = ["one", "two", "three", "four", "five"].map(|data| {
        crc = crc32c::crc32c_append(crc, data.as_bytes());
        framed(crc, data.as_bytes())
    });
    let whole = [records_of.concat(), vec![0; 4096]].concat();
    assert_eq!(records(&whole, true), 5);
    let (second, third) = (records_of[0].len(), records_of[0].len() + records_of[1].len());
    for is_last_file in [true, false] {
        let mut zeroed = whole.clone();
        zeroed[second..third].fill(0);
        // Nothing vouches for the third, as the second is not there.
        assert_eq!(records(&zeroed, is_last_file), 3);
        for length in [0xff_ffff, 1 << 40, 8, 40] {
            let mut wrong = whole.clone();
            wrong[second..second + 7].copy_from_slice(&u64::to_le_bytes(length)[..7]);
            let held = records(&wrong, is_last_file);
            assert!((2..=3).contains(&held), "{length}: {held}");
        }
    }
}

#[test]
fn requests_within_requests_end() {
    let mut txn = TxnRequest::default();
    for _ in 0..40 {
        txn = TxnRequest { success: vec![RequestOp { request: Some(Operation::RequestTxn(txn)) }], ..TxnRequest::default() };
    }
    let within = |txn| InternalRaftRequest { txn: Some(txn), ..InternalRaftRequest::default() }.encode_to_vec().into();
    assert!(Request::read(&within(txn.clone())).is_some());
    for _ in 0..60 {
        txn = TxnRequest { success: vec![RequestOp { request: Some(Operation::RequestTxn(txn)) }], ..TxnRequest::default() };
    }
    assert_eq!(Request::read(&within(txn)), None);
}

#[test]
fn a_value_is_read_in_place() {
    let put = PutRequest { key: "/a".into(), value: "xyz".into(), ..PutRequest::default() };
    let data: Bytes = InternalRaftRequest { put: Some(put), ..InternalRaftRequest::default() }.encode_to_vec().into();
    let Some(Request::Put(put)) = Request::read(&data) else { panic!("no put") };
    assert!(put.value == "xyz" && data.as_ptr_range().contains(&put.value.as_ptr()));
}

/// Up to etcd 3.5 members publish themselves so: ID, Method, Path, Val, Dir and what else the message always has.
#[test]
fn a_request_of_the_old_api_touches_no_key() {
    for method in ["PUT", "POST", "DELETE", "QGET", "SYNC"] {
        let path = b"/0/members/8e9e05c52164694d/attributes";
        let fields = [&[0x08, 7, 0x12, method.len() as u8][..], method.as_bytes(), &[0x1a, path.len() as u8], path, &[0x22, 2, b'{', b'}']];
        let data = Bytes::from([fields.concat(), vec![0x28, 0, 0x32, 0, 0x38, 0, 0x48, 0, 0x50, 0, 0x58, 0, 0x68, 0, 0x70, 0]].concat());
        assert_eq!(Request::read(&data), Some(Request::Nothing), "{method}");
    }
    assert_eq!(Request::read(&Bytes::from_static(&[0x12, 4, b'N', b'O', b'N', b'E', 0x28, 0])), None);
}

/// The depth of a transaction; the decoder's limit ends it.
fn depth(txn: &TxnRequest) -> usize {
    let inner = |operation: &Operation| if let Operation::RequestTxn(txn) = operation { depth(txn) } else { 0 };
    1 + operations(&txn.success).chain(operations(&txn.failure)).map(inner).max().unwrap_or(0)
}

proptest! {
    #[test]
    fn any_bytes_are_no_log_or_one(bytes in proptest::collection::vec(any::<u8>(), 0..300), is_last_file: bool) {
        records(&bytes, is_last_file);
    }

    #[test]
    fn any_bytes_are_no_request_or_one(bytes in proptest::collection::vec(prop_oneof![0..64_u8, any::<u8>()], 0..200)) {
        if let Some(Request::Txn(txn)) = Request::read(&bytes.into()) {
            prop_assert!(depth(&txn) < 60);
        }
    }
}
