//! Why there is nothing to look at, in words.

use ketcd_cluster::triage::Absence;
use ketcd_render::words::absence_words;

#[test]
fn the_reason_says_what_to_do_next() {
    let prefix = || "/registry".to_owned();
    let foreign = |begin: &str| Absence::Foreign { prefix: prefix(), begin: vec![begin.to_owned()] };
    let other = |prefix: &str, cluster: &str| Absence::OtherPrefix { prefix: prefix.to_owned(), cluster: cluster.to_owned() };
    let cases = [
        (Absence::Empty, "the store is empty"),
        (foreign("compact_rev_key"), "no Kubernetes object is stored below /registry"),
        (foreign("/calico/"), "keys begin with /calico/"),
        (Absence::OnlyEvents { prefix: prefix() }, "only Events are stored below /registry"),
        (Absence::OnlyEvents { prefix: prefix() }, "name the etcd that holds the other objects"),
        (Absence::OtherKinds { prefix: prefix(), kinds: vec!["configmaps".to_owned()] }, "only other kinds: configmaps"),
        (other("/wrong", "/registry"), "nothing is stored below /wrong; a cluster's keys are below /registry: --prefix /registry"),
        (other("/registry", "/kube"), "--prefix /kube"),
        (Absence::Namespace("wbe".to_owned()), "namespace \"wbe\" does not exist"),
    ];
    for (absence, wanted) in cases {
        let words = absence_words(&absence);
        assert!(words.contains(wanted), "{words}");
    }
}
