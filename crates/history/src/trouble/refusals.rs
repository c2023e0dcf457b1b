//! The reasons in what a scheduler says of a pod that it found no node for: `0/4 nodes are available: 1 Insufficient cpu, 3 node(s) were unschedulable.`
//!
//! Source: kube-scheduler's FitError (1.9 and later: `core/generic_scheduler.go`; 1.19 and later: `framework/types.go`): reasons with how many nodes
//! each refused, sorted and joined by a comma, then a full stop and what preemption says. A reason that a whole pod was refused for has no count.

/// Why a scheduler found no node for a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusals<'m> {
    /// How many nodes there were.
    pub nodes: u64,
    /// The reasons as the message has them, with the number of nodes that each refused; `None` where it refused the pod as a whole.
    pub reasons: Vec<(Option<u64>, &'m str)>,
}

impl<'m> Refusals<'m> {
    /// Reads a message; `None` where it has another form.
    pub fn of(message: &'m str) -> Option<Self> {
        let (nodes, said) = message.strip_prefix("0/")?.split_once(" nodes are available: ")?;
        let nodes = nodes.parse().ok()?;
        // What preemption says comes behind the full stop.
        let said = said.split_once(". ").map_or(said, |(said, _)| said);
        let said = said.strip_suffix('.').unwrap_or(said);
        let mut reasons = Vec::new();
        let mut rest = said;
        loop {
            let (own, next) = split(rest);
            reasons.push(own);
            match next {
                Some(next) => rest = next,
                None => break,
            }
        }
        Some(Self { nodes, reasons })
    }
}

/// A reason with its count and, where another one follows, the rest: reasons hold commas themselves, and the next one begins with a number.
fn split(text: &str) -> ((Option<u64>, &str), Option<&str>) {
    let ends = text.match_indices(", ").map(|(at, _)| at).find(|at| counted(&text[at + 2..]).is_some());
    let (own, next) = ends.map_or((text, None), |at| (&text[..at], Some(&text[at + 2..])));
    (counted(own).map_or((None, own), |(count, reason)| (Some(count), reason)), next)
}

/// The number at the beginning, and what follows it.
fn counted(text: &str) -> Option<(u64, &str)> {
    let (count, reason) = text.split_once(' ')?;
    Some((count.parse().ok()?, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &str, nodes: u64, reasons: &[(Option<u64>, &str)]) {
        assert_eq!(Refusals::of(message), Some(Refusals { nodes, reasons: reasons.to_vec() }));
    }

    #[test]
    fn reasons_are_told_apart_by_the_numbers_before_them() {
        check(
            "0/4 nodes are available: 1 node(s) had taint {a: b}, that the pod didn't tolerate, 3 Insufficient example.com/gpu.",
            4,
            &[(Some(1), "node(s) had taint {a: b}, that the pod didn't tolerate"), (Some(3), "Insufficient example.com/gpu")],
        );
        check(
            "0/24 nodes are available: 24 Insufficient cpu. no new claims to deallocate, preemption: 0/24 nodes are available: 24 No preemption victims found for incoming pod.",
            24,
            &[(Some(24), "Insufficient cpu")],
        );
        let claim = "persistentvolumeclaim \"data\" not found";
        check(&format!("0/2 nodes are available: {claim}."), 2, &[(None, claim)]);
        check("0/1 nodes are available: 1 node(s) were unschedulable", 1, &[(Some(1), "node(s) were unschedulable")]);
        for other in ["", "0/1 nodes are available", "no nodes available to schedule pods", "0/x nodes are available: 1 a."] {
            assert_eq!(Refusals::of(other), None, "{other}");
        }
    }
}
