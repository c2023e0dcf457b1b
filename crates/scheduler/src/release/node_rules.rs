//! What differs between releases in the plugins that read only the node. The fields of [`Rules`] have the rest.

use super::rules::Rules;

impl Rules {
    /// The reason TaintToleration rejects with (`plugins/tainttoleration/taint_toleration.go`).
    pub(crate) fn untolerated(&self, key: &str, value: &str) -> String {
        match self.release.0 {
            ..=23 => format!("node(s) had taint {{{key}: {value}}}, that the pod didn't tolerate"),
            _ if self.taint_named => format!("node(s) had untolerated taint {{{key}: {value}}}"),
            _ => "node(s) had untolerated taint(s)".to_owned(),
        }
    }

    /// The reason NodeDeclaredFeatures rejects with, for the features `missing` (`plugins/nodedeclaredfeatures/nodedeclaredfeatures.go`).
    pub(crate) fn features_missing(&self, missing: &[&str]) -> String {
        match self.release.0 {
            ..=35 => format!("node declared features check failed - unsatisfied requirements: {}", missing.join(", ")),
            _ => "node(s) didn't match Pod's required features".to_owned(),
        }
    }
}

rules_of! {
    Rules, self, minor = self.release.0;

    /// The reason NodeName rejects with (`plugins/nodename/node_name.go`).
    other_node_named: &'static str = match minor {
        ..=20 => "node(s) didn't match the requested hostname",
        _ => "node(s) didn't match the requested node name",
    };
    /// Whether NodeName's PreFilterResult has only the named node (since 1.37).
    node_name_narrows: bool = minor >= 37;
    /// The reason NodeAffinity rejects with (`plugins/nodeaffinity/node_affinity.go`).
    node_affinity_unmet: &'static str = match minor {
        ..=19 => "node(s) didn't match node selector",
        20 => "node(s) didn't match Pod's node affinity",
        _ => "node(s) didn't match Pod's node affinity/selector",
    };
    /// Whether kubelets declare the feature VolumeBindMountOptions (`component-helpers/nodedeclaredfeatures`, since 1.37).
    knows_bind_mount_options: bool = minor >= 37;
    /// Whether a sidecar that the gate forbids is rejected in NodeResourcesFit's PreFilter, not node by node (`plugins/noderesources/fit.go`, since
    /// 1.30).
    sidecars_refused_at_once: bool = minor >= 30;
    /// Whether NodeResourcesFit's score ignores the gate PodOverhead (`fit.go`, 1.22 and 1.23).
    fit_score_forgets_overhead: bool = (22..=23).contains(&minor);
    /// Whether a resource that a node lists with amount zero is left to devices (`fit.go`, since 1.35).
    zero_amount_is_left_to_devices: bool = minor >= 35;
    /// Whether all resources of a pod that requests no extended one are left to devices (`fit.go`, 1.34).
    unextended_are_left_to_devices: bool = minor == 34;
    /// Whether the names of images are compared as the pod has them, without a default tag (`priorities/image_locality.go`, up to 1.10).
    images_as_written: bool = minor <= 10;
    /// Whether nodes that do not exist still count for ImageLocality while pods are bound to them (`priorities/metadata.go`: the cache's own map, up
    /// to 1.13).
    images_count_absent_nodes: bool = minor <= 13;
}
