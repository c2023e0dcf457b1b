//! Which namespace a key is of, and which keys all namespaces have in common.

use ketcd_kube::Kinds;
use ketcd_store::KeyRange;

use crate::read::Keys;

/// Ranges of keys, each with how many bytes of its keys stand before the namespace; `None` where all namespaces have its keys in common.
pub(super) struct Shelves(Vec<(KeyRange, Option<usize>)>);

impl Shelves {
    pub(super) fn of(keys: &Keys, kinds: &Kinds, prefix: &str) -> Self {
        let namespaced = kinds.iter().filter(|kind| kind.namespaced && kind.is_stored());
        let below: Vec<(String, bool)> = namespaced.map(|kind| (kind.key_prefix(prefix, None), kind.plural == "leases")).collect();
        let before_namespace = |range: &KeyRange| {
            let is_of = |(below, is_lease): &&(String, bool)| {
                // The heartbeats of nodes, which are asked for by their namespace, belong to the nodes.
                range.start.starts_with(below.as_bytes()) && (!is_lease || range.start.len() == below.len())
            };
            below.iter().filter(is_of).map(|(below, _)| below.len()).max()
        };
        Self(keys.apart().into_iter().map(|range| (range.clone(), before_namespace(&range))).collect())
    }

    /// Whether any key is of a namespace.
    pub(super) fn have_namespaces(&self) -> bool {
        self.0.iter().any(|(_, before)| before.is_some())
    }

    /// The namespace of a key, with the slash after it, so that namespaces are in the order of keys.
    pub(super) fn namespace<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        let after = self.0.partition_point(|(range, _)| range.start.as_slice() <= key);
        let (range, before) = &self.0[after.checked_sub(1)?];
        let rest = key.get((*before)?..).filter(|_| range.contains(key))?;
        let slash = rest.iter().position(|&byte| byte == b'/')?;
        Some(&rest[..=slash])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_those_of_keys() {
        let ranges = ["/registry/events/", "/registry/leases/kube-node-lease/", "/registry/minions/", "/registry/pods/lab/"];
        let keys = Keys::many(ranges.map(KeyRange::prefix).into());
        let shelves = Shelves::of(&keys, &Kinds::builtin(), "/registry");
        assert!(shelves.have_namespaces());
        for (key, namespace) in [
            ("/registry/events/lab/a.1", Some("lab/")),
            ("/registry/pods/lab/a", Some("lab/")),
            ("/registry/pods/shop/a", None),
            ("/registry/leases/kube-node-lease/n1", None),
            ("/registry/minions/n1", None),
            ("/registry/configmaps/lab/a", None),
            ("/registry/events/odd", None),
            ("/a", None),
        ] {
            assert_eq!(shelves.namespace(key.as_bytes()), namespace.map(str::as_bytes), "{key}");
        }
        assert!(!Shelves::of(&Keys::many(vec![KeyRange::prefix("/registry/minions/")]), &Kinds::builtin(), "/registry").have_namespaces());
    }
}
