//! What filters checked on a node, in words: a fragment without a full stop, and in brackets who is behind the numbers.

mod devices;
mod labels;
mod node;
mod pods;
mod resources;
mod volumes;

use ketcd_scheduler::cluster::PodKey;
use ketcd_scheduler::{Fact, FilterCheck};

/// What was checked.
pub(super) fn text(fact: &Fact) -> String {
    let holds = fact.holds;
    match &fact.check {
        FilterCheck::Node(check) => node::text(check, holds),
        FilterCheck::Labels(check) => labels::text(check),
        FilterCheck::Resources(check) => resources::text(check),
        FilterCheck::Pods(check) => pods::text(check),
        FilterCheck::Volumes(check) => volumes::text(check, holds),
        FilterCheck::Devices(check) => devices::text(check, holds),
        FilterCheck::Upstream(reasons) => reasons.join(", "),
    }
}

/// The same, with the pods behind it: `cpu: 1 asked, 800m free; 3.2 of 4 taken (by shop/web-0 3.2)`.
pub(super) fn whole(fact: &Fact) -> String {
    let text = text(fact);
    let who = match &fact.check {
        FilterCheck::Resources(check) => resources::who(check),
        FilterCheck::Pods(check) => pods::who(check),
        _ => None,
    };
    match who {
        Some(who) => format!("{text} ({who})"),
        None => text,
    }
}

/// The first of several names, and how many more there are.
fn first(names: &[String], shown: usize) -> String {
    let more = names.len().saturating_sub(shown);
    let first = names[..names.len() - more].join(", ");
    if more > 0 { format!("{first} and {more} more") } else { first }
}

/// Some of a list, and how many more there are as its last item.
fn list(items: impl ExactSizeIterator<Item = String>, shown: usize) -> String {
    let more = items.len().saturating_sub(shown);
    let items = items.take(shown).chain((more > 0).then(|| format!("{more} more")));
    items.collect::<Vec<_>>().join(", ")
}

fn pod((namespace, name): &PodKey) -> String {
    format!("{namespace}/{name}")
}
