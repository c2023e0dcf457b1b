//! Why there was nothing to look at: an empty store, or the store of other software, is not a healthy cluster.

use ketcd_cluster::triage::Absence;

use crate::visible::visible;

/// Returns what there is instead, and what to do next.
pub fn absence_words(absence: &Absence) -> String {
    let text = match absence {
        Absence::Empty => "the store is empty: a new etcd, an etcd that is not the cluster's, or a file without objects".to_owned(),
        Absence::OtherPrefix { prefix, cluster } => {
            format!("nothing is stored below {prefix}; a cluster's keys are below {cluster}: --prefix {cluster}")
        }
        Absence::Foreign { prefix, begin } => {
            let begin = begin.join(", ");
            format!("no Kubernetes object is stored below {prefix}: keys begin with {begin}; name the API server's etcd, or its --prefix")
        }
        Absence::OnlyEvents { prefix } => {
            format!(
                "only Events are stored below {prefix}; name the etcd that holds the other objects (--etcd-servers of the API server), or give their files too"
            )
        }
        Absence::OtherKinds { prefix, kinds } => {
            format!("no node, pod, workload or namespace is stored below {prefix}, only other kinds: {}", kinds.join(", "))
        }
        Absence::Objects(None) => "none of the objects asked for is there".to_owned(),
        Absence::Objects(Some(name)) => format!("none of the objects asked for is there in namespace \"{name}\"; -A looks in all"),
        Absence::Namespace(name) => format!("namespace \"{name}\" does not exist; ketcd ls namespaces lists those that do"),
    };
    visible(&text).into_owned()
}
