//! Words for parts of a configuration that cannot be verified.

use ketcd_scheduler::Unverifiable;

/// What cannot be verified, in one sentence.
pub(super) fn unverifiable(of: &Unverifiable) -> String {
    match of {
        Unverifiable::Extender { url, filters, prioritizes } => {
            let does = match (filters, prioritizes) {
                (true, true) => "refuse and score nodes",
                (true, false) => "refuse nodes",
                (false, true) => "add points",
                (false, false) => "take part in binding or preemption",
            };
            format!("The extender {url} may {does}; its answers are not in etcd.")
        }
        Unverifiable::ExtenderFiles { url, files } => {
            let files = files.join(", ");
            format!(
                "The extender {url} reads {files} when kube-scheduler starts, which fails without them; whether it could is not in etcd."
            )
        }
        Unverifiable::OutOfTreePlugin(name) => format!("The plugin {name} is not in-tree; its results are not in etcd."),
        Unverifiable::UnknownPlugin(name) => format!("ketcd has no rule for the plugin {name}."),
        Unverifiable::ScoreRunsTwice { plugin, release } => {
            format!("The score of {plugin} runs twice, because of a bug in kube-scheduler {release}; it is counted once here.")
        }
        Unverifiable::NegativeWeight(release) => format!(
            "A weight is negative: kube-scheduler {release} starts or not depending on the order of a Go map (total score of Score plugins could overflow)."
        ),
        Unverifiable::ScoreWithoutPreScore(name) => {
            format!("The plugin {name} scores but its PreScore is disabled: upstream fails, or decides without it.")
        }
        Unverifiable::FilterWithoutPreFilter(name) => {
            format!("The plugin {name} filters but its PreFilter is disabled: upstream fails, or decides without it.")
        }
        Unverifiable::UnorderedPredicate { name, release } => {
            format!("The predicate {name} is not in the order of predicates of {release}: it never runs.")
        }
        Unverifiable::UnregisteredPredicate { name, release } => {
            format!("A released kube-scheduler {release} does not register {name} and refuses this Policy.")
        }
        #[cfg(not(ketcd_exhaustive))]
        _ => unreachable!("of another version"),
    }
}
