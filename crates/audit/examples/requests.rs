//! Prints who asked for changes: `cargo run -p ketcd-audit --example requests < audit.log`.

use std::io::{self, Write};

use ketcd_audit::Reader;

fn main() -> io::Result<()> {
    let (mut out, mut failed) = (io::stdout().lock(), Ok(()));
    let (report, ended) = Reader::default().read(&mut io::stdin().lock(), &mut |request| {
        if request.may_change() && failed.is_ok() {
            let target = &request.target;
            failed = writeln!(out, "{} {} {} {}/{}", request.received, request.user, request.verb.as_str(), target.resource, target.name);
        }
    });
    ended.and(failed)?;
    writeln!(out, "{} requests, {} damaged lines", report.requests, report.damaged)
}

#[test]
fn an_empty_log_has_no_requests() {
    let (report, ended) = Reader::default().read(&mut io::empty(), &mut |_| unreachable!());
    assert!(ended.is_ok() && report.requests == 0);
}
