//! Exact amounts by resource name, as a manifest lists them, and how such lists are added and compared.

use std::sync::Arc;

use crate::cluster::{Amount, Interner, Pairs};

pub(crate) type ResourceList = Vec<(Arc<str>, Amount)>;

/// Parses a resource list; amounts that are not valid quantities are added to `problems`.
pub(in crate::cluster) fn resource_list(
    list: Option<&Pairs>,
    place: &str,
    interner: &mut Interner,
    problems: &mut Vec<String>,
) -> ResourceList {
    let list = list.into_iter().flat_map(Pairs::iter);
    list.filter_map(|(name, quantity)| compiled(name, quantity, place, interner, problems)).collect()
}

/// Parses one amount of such a list.
pub(in crate::cluster) fn compiled(
    name: &str,
    quantity: &str,
    place: &str,
    interner: &mut Interner,
    problems: &mut Vec<String>,
) -> Option<(Arc<str>, Amount)> {
    let amount = Amount::parse(quantity);
    if amount.is_none() {
        problems.push(format!("{place}.{name}: \"{quantity}\" is not a valid quantity; counted as absent"));
    }
    Some((interner.string(name), amount?))
}

/// The amount of that name, zero if there was none.
fn entry<'a>(list: &'a mut ResourceList, name: &Arc<str>) -> &'a mut Amount {
    let at = list.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
        list.push((name.clone(), Amount::default()));
        list.len() - 1
    });
    &mut list[at].1
}

pub(in crate::cluster) fn set(list: &mut ResourceList, name: &Arc<str>, amount: Amount) {
    *entry(list, name) = amount;
}

pub(in crate::cluster) fn add_all(list: &mut ResourceList, other: &ResourceList) {
    for (name, amount) in other {
        let known = entry(list, name);
        *known = *known + *amount;
    }
}

/// Raises every amount to at least the other list's.
pub(in crate::cluster) fn raise_all(list: &mut ResourceList, other: &ResourceList) {
    for (name, amount) in other {
        let known = entry(list, name);
        *known = (*known).max(*amount);
    }
}
