//! Versions that objects are stored in but no longer served in: the API server returns them in the version that replaced it.
//!
//! Those are the versions whose messages have the same fields, in column `replaced` of `proto/versions.tsv`. PodCertificateRequest, whose v1 has
//! fewer, is in `served`; the others are shown as they are stored.

use crate::proto::versions::REPLACED;

/// The API version in which a server of release 1.`minor` returns what is stored in `api_version`, where that is another one.
pub(super) fn served_as(api_version: &str, kind: &str, minor: u8) -> Option<String> {
    let (group, version) = api_version.split_once('/')?;
    let replaced = REPLACED.iter().find(|row| (row.0, row.1, row.2) == (group, version, kind))?;
    (replaced.3 <= minor).then(|| format!("{group}/v1"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::decoder::stored::find_message;
    use crate::proto::kubernetes::MESSAGES;
    use crate::proto::table::{Message, Type};

    #[test]
    fn replaced_versions_have_the_fields_of_their_successors() {
        for (group, version, kind, _) in REPLACED {
            let (old, new) =
                (find_message(&format!("{group}/{version}"), kind).unwrap(), find_message(&format!("{group}/v1"), kind).unwrap());
            if let Some(path) = unlike(old, new, &mut BTreeSet::new()) {
                panic!("{group}/{version} {kind} has {path}, which v1 has not");
            }
        }
    }

    /// A field of the old message that the new one lacks or has in another shape.
    fn unlike(old: &Message, new: &Message, seen: &mut BTreeSet<&'static str>) -> Option<String> {
        if old.name == new.name || !seen.insert(old.name) {
            return None;
        }
        let number = |message: &Message, slot: u8| message.numbers.slots.iter().position(|&index| index == slot + 1);
        for row in old.rows.iter().filter(|row| !matches!(row.ty, Type::ApiVersion | Type::Kind) && row.last == 255) {
            let same = new.rows.iter().find(|other| other.name == row.name && other.card == row.card && other.last == 255);
            let here = Some(format!("{}.{}", old.name, row.name));
            match same.filter(|other| number(old, row.slot) == number(new, other.slot)).map(|other| (row.ty, other.ty)) {
                Some((Type::Message(a), Type::Message(b))) => {
                    let inner = unlike(&MESSAGES[usize::from(a.0)], &MESSAGES[usize::from(b.0)], seen);
                    if inner.is_some() {
                        return inner;
                    }
                }
                Some((a, b)) if a == b => {}
                _ => return here,
            }
        }
        None
    }

    #[test]
    fn a_version_is_replaced_once_its_successor_is_alone() {
        let policy = |minor| served_as("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicy", minor);
        assert_eq!(policy(35), None);
        assert_eq!(policy(36).as_deref(), Some("admissionregistration.k8s.io/v1"));
        assert_eq!(served_as("v1", "Pod", 36), None);
        assert_eq!(served_as("autoscaling/v1", "HorizontalPodAutoscaler", 36), None);
    }
}
