//! Versions that objects are stored in but no longer served in: the API server returns them in the version that replaced it.
//!
//! Only versions whose messages have the same fields are here; PodCertificateRequest, whose v1 has fewer, is in `served`, and the others are shown as
//! they are stored. Sources: Kubernetes' deprecation guide for
//! the removals, `pkg/controlplane/instance.go` for the betas that are off by default (those introduced since 1.24).

/// Group, the version stored, the kinds, the first release in which a server by default serves only v1.
type Replaced = (&'static str, &'static str, &'static [&'static str], u8);

const REPLACED: &[Replaced] = &[
    ("admissionregistration.k8s.io", "v1beta1", &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"], 22),
    ("admissionregistration.k8s.io", "v1beta1", &["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"], 30),
    ("admissionregistration.k8s.io", "v1beta1", &["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"], 36),
    ("apiregistration.k8s.io", "v1beta1", &["APIService"], 22),
    ("batch", "v1beta1", &["CronJob"], 25),
    ("certificates.k8s.io", "v1beta1", &["CertificateSigningRequest"], 22),
    ("certificates.k8s.io", "v1beta1", &["ClusterTrustBundle"], 37),
    ("coordination.k8s.io", "v1beta1", &["Lease"], 22),
    ("flowcontrol.apiserver.k8s.io", "v1beta3", &["FlowSchema", "PriorityLevelConfiguration"], 32),
    ("networking.k8s.io", "v1beta1", &["IngressClass"], 22),
    ("networking.k8s.io", "v1beta1", &["IPAddress", "ServiceCIDR"], 33),
    ("node.k8s.io", "v1beta1", &["RuntimeClass"], 25),
    ("policy", "v1beta1", &["PodDisruptionBudget"], 25),
    ("rbac.authorization.k8s.io", "v1beta1", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"], 22),
    ("resource.k8s.io", "v1beta2", &["DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"], 34),
    ("resource.k8s.io", "v1beta2", &["DeviceTaintRule"], 37),
    ("scheduling.k8s.io", "v1beta1", &["PriorityClass"], 22),
    ("storage.k8s.io", "v1beta1", &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"], 22),
    ("storage.k8s.io", "v1beta1", &["CSIStorageCapacity"], 27),
    ("storage.k8s.io", "v1beta1", &["VolumeAttributesClass"], 34),
    ("storagemigration.k8s.io", "v1beta1", &["StorageVersionMigration"], 37),
];

/// The API version in which a server of release 1.`minor` returns what is stored in `api_version`, where that is another one.
pub(super) fn served_as(api_version: &str, kind: &str, minor: u8) -> Option<String> {
    let (group, version) = api_version.split_once('/')?;
    let replaced = |row: &&Replaced| row.0 == group && row.1 == version && row.2.contains(&kind) && row.3 <= minor;
    REPLACED.iter().find(replaced).map(|row| format!("{}/v1", row.0))
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
        for (group, version, kinds, _) in REPLACED {
            for kind in *kinds {
                let (old, new) =
                    (find_message(&format!("{group}/{version}"), kind).unwrap(), find_message(&format!("{group}/v1"), kind).unwrap());
                if let Some(path) = unlike(old, new, &mut BTreeSet::new()) {
                    panic!("{group}/{version} {kind} has {path}, which v1 has not");
                }
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
