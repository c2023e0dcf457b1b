//! What a raft entry asks of the store: `etcdserverpb.InternalRaftRequest`, its bytes as places in the log file.

use std::ops::Range;

use crate::load::mvcc::{Field, Fields};

/// A request that can change keys, or what decides whether others do.
#[derive(Debug, PartialEq)]
pub(crate) enum Request {
    Put(Put),
    Delete(Delete),
    Txn(Txn),
    LeaseGrant(i64),
    LeaseRevoke(i64),
    Alarm(Alarm),
    /// Reads, compactions, membership, versions, users: no revision comes of them.
    Nothing,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Put {
    pub key: Range<usize>,
    pub value: Range<usize>,
    pub lease: i64,
    pub ignore_value: bool,
    pub ignore_lease: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Delete {
    pub key: Range<usize>,
    pub range_end: Range<usize>,
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Txn {
    pub compares: Vec<Compare>,
    pub success: Vec<Operation>,
    pub failure: Vec<Operation>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Operation {
    Put(Put),
    Delete(Delete),
    Txn(Txn),
}

/// A compare: 0 equal, 1 greater, 2 less, 3 not equal; what it compares is in `target`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Compare {
    pub result: u64,
    pub target: Target,
    pub key: Range<usize>,
    pub range_end: Range<usize>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Target {
    KeyState(i64),
    Create(i64),
    Mod(i64),
    Value(Range<usize>),
    Lease(i64),
}

impl Default for Target {
    fn default() -> Self {
        Self::KeyState(0)
    }
}

/// `AlarmRequest`: 1 raises, 2 clears.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Alarm {
    pub action: u64,
    pub member: u64,
    pub kind: u64,
}

/// Transactions within transactions: etcd's clients make none deeper.
const MAX_DEPTH: usize = 16;

impl Request {
    /// Reads the request at `place`; `None` if it is none.
    pub(crate) fn read(file: &[u8], place: Range<usize>) -> Option<Self> {
        if place.is_empty() {
            return Some(Self::Nothing);
        }
        let mut found = Self::Nothing;
        let mut fields = Fields::within(file, place);
        while let Some((number, field)) = fields.next()? {
            match (number, field) {
                // Up to 3.5 members publish themselves by requests of the old API, which has a flag there; they touch no key.
                (5, Field::Varint(_)) => return Some(Self::Nothing),
                (2, Field::Bytes(method)) if matches!(&file[method.clone()], b"PUT" | b"POST" | b"DELETE" | b"QGET" | b"SYNC") => {
                    return Some(Self::Nothing);
                }
                (4, Field::Bytes(place)) => found = Self::Put(put(file, place)?),
                (5, Field::Bytes(place)) => found = Self::Delete(delete(file, place)?),
                (6, Field::Bytes(place)) => found = Self::Txn(txn(file, place, 0)?),
                (8, Field::Bytes(place)) => found = Self::LeaseGrant(number_at(file, place, 2)?),
                (9, Field::Bytes(place)) => found = Self::LeaseRevoke(number_at(file, place, 1)?),
                (10, Field::Bytes(place)) => found = Self::Alarm(alarm(file, place)?),
                _ => {}
            }
        }
        Some(found)
    }
}

fn put(file: &[u8], place: Range<usize>) -> Option<Put> {
    let mut put = Put::default();
    let mut fields = Fields::within(file, place);
    while let Some(field) = fields.next()? {
        match field {
            (1, Field::Bytes(key)) => put.key = key,
            (2, Field::Bytes(value)) => put.value = value,
            (3, Field::Varint(lease)) => put.lease = lease.cast_signed(),
            (5, Field::Varint(flag)) => put.ignore_value = flag != 0,
            (6, Field::Varint(flag)) => put.ignore_lease = flag != 0,
            _ => {}
        }
    }
    Some(put)
}

fn delete(file: &[u8], place: Range<usize>) -> Option<Delete> {
    let mut delete = Delete::default();
    let mut fields = Fields::within(file, place);
    while let Some(field) = fields.next()? {
        match field {
            (1, Field::Bytes(key)) => delete.key = key,
            (2, Field::Bytes(end)) => delete.range_end = end,
            _ => {}
        }
    }
    Some(delete)
}

fn txn(file: &[u8], place: Range<usize>, depth: usize) -> Option<Txn> {
    let mut txn = Txn::default();
    let mut fields = Fields::within(file, place);
    while let Some(field) = fields.next()? {
        match field {
            (1, Field::Bytes(place)) => txn.compares.push(compare(file, place)?),
            (2, Field::Bytes(place)) => txn.success.extend(operation(file, place, depth)?),
            (3, Field::Bytes(place)) => txn.failure.extend(operation(file, place, depth)?),
            _ => {}
        }
    }
    Some(txn)
}

/// `RequestOp {1 range, 2 put, 3 delete, 4 txn}`; a range gives nothing.
fn operation(file: &[u8], place: Range<usize>, depth: usize) -> Option<Option<Operation>> {
    let mut found = None;
    let mut fields = Fields::within(file, place);
    while let Some(field) = fields.next()? {
        match field {
            (2, Field::Bytes(place)) => found = Some(Operation::Put(put(file, place)?)),
            (3, Field::Bytes(place)) => found = Some(Operation::Delete(delete(file, place)?)),
            (4, Field::Bytes(place)) if depth < MAX_DEPTH => found = Some(Operation::Txn(txn(file, place, depth + 1)?)),
            (4, _) => return None,
            _ => {}
        }
    }
    Some(found)
}

fn compare(file: &[u8], place: Range<usize>) -> Option<Compare> {
    let mut compare = Compare::default();
    let (mut target, mut number, mut value) = (0, 0, place.end..place.end);
    let mut fields = Fields::within(file, place);
    while let Some(field) = fields.next()? {
        match field {
            (1, Field::Varint(result)) => compare.result = result,
            (2, Field::Varint(what)) => target = what,
            (3, Field::Bytes(key)) => compare.key = key,
            (4..=6 | 8, Field::Varint(wanted)) => number = wanted.cast_signed(),
            (7, Field::Bytes(wanted)) => value = wanted,
            (64, Field::Bytes(end)) => compare.range_end = end,
            _ => {}
        }
    }
    compare.target = match target {
        0 => Target::KeyState(number),
        1 => Target::Create(number),
        2 => Target::Mod(number),
        3 => Target::Value(value),
        4 => Target::Lease(number),
        _ => return None,
    };
    Some(compare)
}

fn alarm(file: &[u8], place: Range<usize>) -> Option<Alarm> {
    let mut alarm = Alarm::default();
    let mut fields = Fields::within(file, place);
    while let Some(field) = fields.next()? {
        match field {
            (1, Field::Varint(action)) => alarm.action = action,
            (2, Field::Varint(member)) => alarm.member = member,
            (3, Field::Varint(kind)) => alarm.kind = kind,
            _ => {}
        }
    }
    Some(alarm)
}

/// The integer field `number` of the message at `place`; 0 where it is absent.
fn number_at(file: &[u8], place: Range<usize>, number: u64) -> Option<i64> {
    let (mut found, mut fields) = (0, Fields::within(file, place));
    while let Some(field) = fields.next()? {
        match field {
            (n, Field::Varint(value)) if n == number => found = value.cast_signed(),
            _ => {}
        }
    }
    Some(found)
}
