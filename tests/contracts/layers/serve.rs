//! Holds the rooms of ketcd-serve to their order: each may use only those listed before it.

use ketcd_testing::layers::Crate;

use super::sources;

/// The rooms, from the ground up.
const SERVE_ROOMS: &[&str] = &["wire", "request", "data", "access", "answers", "server"];

#[test]
fn every_room_uses_only_those_below_it() {
    let found = sources("crates/serve/src");
    assert!(found.len() > 40, "only {} files were found", found.len());
    let faults = Crate::new(found).faults(SERVE_ROOMS);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
