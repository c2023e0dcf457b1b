//! A plugin added in one file and one row, as CONTRIBUTING says: it filters, reports what it compared, and brings remedies like those of upstream.

#[path = "../../examples/plugin/main.rs"]
#[expect(dead_code, reason = "the example's main prints what is held here")]
mod example;

use ketcd_scheduler::Fix;

#[test]
fn a_plugin_is_one_file_and_one_row() {
    let explanation = example::explain().unwrap();
    assert_eq!(explanation.judgement.filters.last(), Some(&"RetiringNodes"));
    let message = explanation.judgement.message.unwrap();
    assert!(message.starts_with("0/1 nodes are available: 1 node(s) were retiring."), "{message}");
    let evidence = explanation.evidence.iter().find(|evidence| evidence.plugin == "RetiringNodes").unwrap();
    assert!(!evidence.facts[0].holds, "{:?}", evidence.facts);
    let remedies: Vec<&[Fix]> = explanation.help.remedies.iter().map(|remedy| &*remedy.fixes).collect();
    assert_eq!(remedies, [[Fix::RemoveLabel { key: "example.com/retiring".into() }]]);
}
