//! Exact amounts by resource name, as a manifest lists them, and how such lists are added and compared.

use std::sync::Arc;

use crate::cluster::Amount;

/// Amounts by resource name.
pub(crate) type ResourceList = Vec<(Arc<str>, Amount)>;

/// The amount of that name, zero if there was none.
fn entry<'a>(list: &'a mut ResourceList, name: &Arc<str>) -> &'a mut Amount {
    let at = list.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
        list.push((name.clone(), Amount::default()));
        list.len() - 1
    });
    &mut list[at].1
}

/// Sets the amount of a resource.
pub(in crate::cluster) fn set(list: &mut ResourceList, name: &Arc<str>, amount: Amount) {
    *entry(list, name) = amount;
}

/// Adds every amount of the other list.
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
