//! SECURITY.md's table of rights is the one of the questions that a cluster answers.

use std::fs;

use ketcd_cluster::rights::table;

use crate::root;

const BEGIN_MARK: &str = "<!-- rights: written by `KETCD_BLESS=1 cargo test --test contracts` from crates/cluster/src/reading/rights -->\n";
const END_MARK: &str = "<!-- rights end -->";

#[test]
fn the_table_of_rights_is_that_of_the_questions() {
    let path = root().join("SECURITY.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN_MARK).expect("SECURITY.md has the table of rights");
    let (_, after) = rest.split_once(END_MARK).expect("the table of rights ends");
    let wanted = format!("{before}{BEGIN_MARK}{}{END_MARK}{after}", table());
    if std::env::var_os("KETCD_BLESS").is_some() {
        fs::write(&path, &wanted).unwrap();
    }
    let is_written = fs::read_to_string(&path).unwrap() == wanted;
    assert!(is_written, "SECURITY.md is stale: run `KETCD_BLESS=1 cargo test --test contracts rights` and commit it");
}
