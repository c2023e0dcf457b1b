//! Audit logs: requests are the same whatever pieces the stream comes in, and no more than what was read.

use std::io::{self, Read};

use ketcd_history::audit::{FileReport, Reader};

/// A stream that gives one byte at a time.
struct Dripping<'d>(&'d [u8]);

impl Read for Dripping<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = into.len().min(1);
        self.0.read(&mut into[..length])
    }
}

fn read(from: &mut dyn Read) -> (FileReport, Vec<String>) {
    let mut requests = Vec::new();
    let (report, ended) = Reader::default().read(from, &mut |request| {
        let (from, to) = request.interval();
        assert!(from <= to, "a request was answered before it was received: {request:?}");
        assert!(request.names_revision.is_none_or(|revision| revision > 0));
        requests.push(format!("{request:?}"));
    });
    assert!(ended.is_ok(), "memory can be read");
    (report, requests)
}

pub fn audit_log(data: &[u8]) {
    let (report, requests) = read(&mut &data[..]);
    assert_eq!(report.requests, requests.len() as u64);
    assert!(report.damages.len() as u64 <= report.damaged);
    let (other, same) = read(&mut Dripping(data));
    assert!(report == other && requests == same, "the pieces that a log comes in make a difference");
}
