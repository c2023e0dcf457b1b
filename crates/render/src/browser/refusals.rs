//! Which plugin of a scheduler refuses in which words: `FailedScheduling` and the condition `PodScheduled` have a refusal's words, and no plugin's name.

/// The plugins, in small letters, each with a part of every reason it gives (pkg/scheduler/framework/plugins of 1.36, `ErrReason…` and the like; older
/// releases say the same in the same words or those that stand behind them).
const WORDS: [(&str, &[&str]); 14] = [
    ("dynamicresources", &["resourceclaim", "cannot allocate all claims", "could not allocate"]),
    ("interpodaffinity", &["pod affinity rules", "pod affinity/anti-affinity", "pod anti-affinity", "existing pods anti-affinity"]),
    ("nodeaffinity", &["pod's node affinity", "match node selector"]),
    ("nodename", &["match the requested node name", "requested hostname"]),
    ("nodeports", &["free ports for the requested pod ports"]),
    ("noderesourcesfit", &["insufficient ", "too many pods"]),
    ("nodeunschedulable", &["node(s) were unschedulable"]),
    ("nodevolumelimits", &["exceed max volume count"]),
    ("podtopologyspread", &["pod topology spread constraints"]),
    ("schedulinggates", &["non-empty scheduling gates"]),
    ("tainttoleration", &["untolerated taint", "that the pod didn't tolerate"]),
    (
        "volumebinding",
        &[
            "volume node affinity conflict",
            "available persistent volumes to bind",
            "unbound immediate persistentvolumeclaims",
            "persistentvolumeclaim \"",
        ],
    ),
    ("volumerestrictions", &["no available disk", "readwriteoncepod access mode already in-use"]),
    ("volumezone", &["no available volume zone"]),
];

/// Whether a message has the words of a plugin that begins so, in small letters.
pub(super) fn is_refused_by(plugin: &str, message: &str) -> bool {
    let plugins = WORDS.iter().filter(|(name, _)| name.starts_with(plugin));
    let message = message.to_lowercase();
    plugins.flat_map(|(_, words)| words.iter()).any(|words| message.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_its_plugins_by_their_words() {
        let message = "0/4 nodes are available: 2 node(s) didn't have free ports for the requested pod ports, 2 Insufficient cpu.";
        for (plugin, expected) in
            [("nodeports", true), ("noderesourcesfit", true), ("nodeaffinity", false), ("node", true), ("none", false)]
        {
            assert_eq!(is_refused_by(plugin, message), expected, "{plugin}");
        }
    }
}
