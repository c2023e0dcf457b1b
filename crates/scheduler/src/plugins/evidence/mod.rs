//! What plugins and predicates compare on a node: the numbers and names behind a verdict, whether it lets the pod pass or not.

pub(crate) mod devices;
pub(crate) mod node;
pub(crate) mod pods;
pub(crate) mod resources;
pub(crate) mod volumes;

/// The first of several names, and how many more there are.
fn some(names: &[String], shown: usize) -> String {
    let more = names.len().saturating_sub(shown);
    let told = names.iter().take(shown).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{told} and {more} more") } else { told }
}
