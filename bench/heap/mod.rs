//! The time that something takes, and the heap it needs at its peak; and the changes that are made for it.

use std::time::Instant;

use bytes::Bytes;
use ketcd_store::{KeyValue, Revision};
use ketcd_testing::heap::{Counting, peak};

#[global_allocator]
static COUNTING: Counting = Counting;

pub(crate) const OBJECT_COUNT: i64 = 2000;

/// Which object a revision changes: some change often, others hardly ever.
pub(crate) fn number(main: i64) -> i64 {
    let spread = main.wrapping_mul(2_654_435_761) % 1_000_003;
    if main % 4 == 0 { spread % OBJECT_COUNT } else { spread % (OBJECT_COUNT / 50) }
}

/// The version that a revision makes of its object, with a text of this many bytes.
pub(crate) fn version(main: i64, before: Option<&KeyValue>, text: usize) -> KeyValue {
    KeyValue {
        key: Bytes::from(format!("/registry/configmaps/lab/c{:04}", number(main))),
        value: Bytes::from(format!("{{\"kind\":\"ConfigMap\",\"data\":{{\"n\":\"{main}\",\"text\":\"{}\"}}}}", "x".repeat(text))),
        create_revision: before.map_or(Revision(main), |before| before.create_revision),
        mod_revision: Revision(main),
        version: before.map_or(1, |before| before.version + 1),
        replaced: Revision(0),
        lease: 0,
    }
}

/// Runs `work` and prints how long it took and the heap it needed at its peak.
pub(crate) fn measure<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let (done, heap) = peak(work);
    println!("{what:<52} {:>8.3} s {:>8.1} MiB of heap", begun.elapsed().as_secs_f64(), heap as f64 / f64::from(1 << 20));
    done
}
