//! Records and requests of the log: recorded ones, damaged ones, any bytes.

use bytes::Bytes;
use proptest::prelude::*;
use prost::Message;

use super::administration::{AuthRequest, MembershipRequest};
use super::entry::RaftEntry;
use super::log::{EntryRun, RaftLog};
use super::record::{Next, Records};
use super::request::{WalRequest, operations};
use crate::proto::authpb::Permission;
use crate::proto::etcdserverpb::request_op::Request as Operation;
use crate::proto::etcdserverpb::{InternalRaftRequest, PutRequest, RequestOp, TxnRequest};
use crate::proto::raftpb::{ConfChangeType, EntryType};

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
            Next::Damaged { goes_on: false, .. } | Next::End | Next::EndOfFile | Next::Cut { .. } | Next::Torn => return held,
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

/// However much of a record is there, it is the end of a log that is being written, and neither a record nor damage.
#[test]
fn a_record_that_is_being_written_ends_the_log() {
    let (long, mut crc) = ([7; 100], crc32c::crc32c(b"one"));
    let first = framed(crc, b"one");
    crc = crc32c::crc32c_append(crc, &long);
    let second = framed(crc, &long);
    let end = second.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    for there in 0..=end {
        for room in [0, 64, 4096] {
            let file = Bytes::from([&first[..], &second[..there], &vec![0; second.len() - there + room]].concat());
            let mut records = Records::of_written(&file, 0);
            assert!(matches!(records.next(), Next::Record(_)));
            match (there, records.next()) {
                (0, Next::End | Next::EndOfFile) | (_, Next::Torn) if there < end => {}
                (_, Next::Record(record)) if there == end => assert_eq!(record.data, long[..]),
                _ => panic!("{there} of {end} bytes, {room} behind"),
            }
        }
    }
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
    assert!(WalRequest::read(&within(txn.clone())).is_some());
    for _ in 0..60 {
        txn = TxnRequest { success: vec![RequestOp { request: Some(Operation::RequestTxn(txn)) }], ..TxnRequest::default() };
    }
    assert_eq!(WalRequest::read(&within(txn)), None);
}

#[test]
fn a_value_is_read_in_place() {
    let put = PutRequest { key: "/a".into(), value: "xyz".into(), ..PutRequest::default() };
    let data: Bytes = InternalRaftRequest { put: Some(put), ..InternalRaftRequest::default() }.encode_to_vec().into();
    let Some(WalRequest::Put(put)) = WalRequest::read(&data) else { panic!("no put") };
    assert!(put.value == "xyz" && data.as_ptr_range().contains(&put.value.as_ptr()));
}

/// Up to etcd 3.5 members publish themselves so: ID, Method, Path, Val, Dir and what else the message always has.
#[test]
fn a_request_of_the_old_api_touches_no_key() {
    for method in ["PUT", "POST", "DELETE", "QGET", "SYNC"] {
        let path = b"/0/members/8e9e05c52164694d/attributes";
        let fields = [&[0x08, 7, 0x12, method.len() as u8][..], method.as_bytes(), &[0x1a, path.len() as u8], path, &[0x22, 2, b'{', b'}']];
        let data = Bytes::from([fields.concat(), vec![0x28, 0, 0x32, 0, 0x38, 0, 0x48, 0, 0x50, 0, 0x58, 0, 0x68, 0, 0x70, 0]].concat());
        assert_eq!(WalRequest::read(&data), Some(WalRequest::Nothing), "{method}");
    }
    assert_eq!(WalRequest::read(&Bytes::from_static(&[0x12, 4, b'N', b'O', b'N', b'E', 0x28, 0])), None);
}

/// The request of an entry whose data are these bytes.
fn request(kind: EntryType, hex: &str) -> Option<WalRequest> {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let data = (0..hex.len()).step_by(2).map(digits).collect();
    WalRequest::of_entry(&RaftEntry { file: 0, kind: kind.into(), data })
}

/// Entries that etcd 3.4.23 wrote when users, roles and authentication were changed with its own API.
#[test]
fn recorded_requests_of_authentication_are_named() {
    let recorded = [
        (AuthRequest::RoleAdd("root".into()), "a2060a0886f6d5cdd1c0a8e412824b060a04726f6f74"),
        (AuthRequest::UserAdd("root".into()), "a2060a0887f6d5cdd1c0a8e412e244150a04726f6f74120d726f6f742d70617373776f7264"),
        (AuthRequest::UserGrantRole("root".into(), "root".into()), "a2060a0888f6d5cdd1c0a8e41282450c0a04726f6f741204726f6f74"),
        (
            AuthRequest::RoleGrantPermission(
                "reader".into(),
                Some(Permission { perm_type: 0, key: "/registry/".into(), range_end: "/registry0".into() }),
            ),
            "a2060a088af6d5cdd1c0a8e4129a4b220a067265616465721218120a2f72656769737472792f1a0a2f726567697374727930",
        ),
        (
            AuthRequest::RoleRevokePermission("reader".into(), "/registry/".into(), "/registry0".into()),
            "a2060a088bf6d5cdd1c0a8e412a24b200a06726561646572120a2f72656769737472792f1a0a2f726567697374727930",
        ),
        (AuthRequest::UserChangePassword("ann".into()), "a2060a088df6d5cdd1c0a8e412fa440d0a03616e6e1206736563726574"),
        (AuthRequest::UserRevokeRole("ann".into(), "reader".into()), "a2060a088ff6d5cdd1c0a8e4128a450d0a03616e6e1206726561646572"),
        (AuthRequest::Read("UserGet"), "a2060a0890f6d5cdd1c0a8e412f244050a03616e6e"),
        (AuthRequest::Read("UserList"), "a2060a0891f6d5cdd1c0a8e412924500"),
        (AuthRequest::Read("RoleList"), "a2060a0892f6d5cdd1c0a8e4129a4500"),
        (AuthRequest::Read("RoleGet"), "a2060a0893f6d5cdd1c0a8e412924b080a06726561646572"),
        (AuthRequest::UserDelete("ann".into()), "a2060a0894f6d5cdd1c0a8e412ea44050a03616e6e"),
        (AuthRequest::RoleDelete("reader".into()), "a2060a0895f6d5cdd1c0a8e4128a4b080a06726561646572"),
        (AuthRequest::Enable, "a2060a0899f6d5cdd1c0a8e412c23e00"),
        (AuthRequest::Read("Authenticate"), "a2060a089bf6d5cdd1c0a8e412a23f180a04726f6f741a105351757142594a7073716a6873506143"),
        (AuthRequest::Disable, "a20612089cf6d5cdd1c0a8e4121204726f6f74180d9a3f00"),
    ];
    for (wanted, hex) in recorded {
        assert_eq!(request(EntryType::EntryNormal, hex), Some(WalRequest::Auth(wanted)), "{hex}");
    }
}

/// Entries of etcd 3.4.23 (a learner added, changed and removed) and of the etcd of the capture k136-live (what a new member publishes).
#[test]
fn recorded_requests_of_membership_are_named() {
    let change = |of| MembershipRequest::ConfChange(of, 0xf618_7c0c_eb78_675a);
    let recorded = [
        (
            EntryType::EntryConfChange,
            change(ConfChangeType::ConfChangeAddLearnerNode),
            "0896f6d5cdd1c0a8e412100318dacee1dbce819f8cf60122527b226964223a31373733333035393932373730333331363331342c227065657255524c73223a5b22687474703a2f2f3132372e302e302e313a3432333939225d2c2269734c6561726e6572223a747275657d",
        ),
        (
            EntryType::EntryConfChange,
            change(ConfChangeType::ConfChangeUpdateNode),
            "0897f6d5cdd1c0a8e412100218dacee1dbce819f8cf60122417b226964223a31373733333035393932373730333331363331342c227065657255524c73223a5b22687474703a2f2f3132372e302e302e313a3432333938225d7d",
        ),
        (EntryType::EntryConfChange, change(ConfChangeType::ConfChangeRemoveNode), "0898f6d5cdd1c0a8e412100118dacee1dbce819f8cf601"),
        (
            EntryType::EntryNormal,
            MembershipRequest::ClusterMemberAttrSet,
            "a2060b0881f49289bebfa8a8bc01aa512a08d0f89ab983b99fcb72121e0a036c6162121768747470733a2f2f3132372e302e302e313a3237313031",
        ),
        (EntryType::EntryNormal, MembershipRequest::ClusterVersionSet, "a2060b0882f49289bebfa8a8bc01a251070a05332e372e30"),
    ];
    for (kind, wanted, hex) in recorded {
        assert_eq!(request(kind, hex), Some(WalRequest::Membership(wanted)), "{hex}");
    }
}

/// A member whose removal may not have been committed still counts: with two, the end of a log is not certain.
#[test]
fn a_removal_counts_once_it_is_committed() {
    let added = |member: u8| vec![0x08, 1, 0x10, 0, 0x18, member];
    let removed = |member: u8| vec![0x08, 2, 0x10, 1, 0x18, member];
    let entries =
        [added(7), added(8), removed(8)].map(|data| RaftEntry { file: 0, kind: EntryType::EntryConfChange as i32, data: data.into() });
    let mut log = RaftLog::default();
    log.runs.push(EntryRun { first: 1, entries: entries.to_vec(), ..EntryRun::default() });
    for (commit, voters) in [(2, 2), (3, 1)] {
        log.commit = commit;
        assert_eq!(log.voters(), Some(voters), "{commit} are committed");
    }
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
        if let Some(WalRequest::Txn(txn)) = WalRequest::read(&bytes.into()) {
            prop_assert!(depth(&txn) < 60);
        }
    }
}
