//! Programs other than API servers that keep their keys in the same etcd, by what their keys begin with.
//!
//! Sources: k3s and RKE2 v1.37 (`pkg/etcd/etcd.go`, `apiaddresses_controller.go`, `pkg/cluster/storage.go`), kine v0.17 (`pkg/drivers/generic/generic.go`,
//! `pkg/server/compact.go`), etcd v3.7 (`etcdctl/ctlv3/command/check.go`), vcluster (`pkg/syncer`); of the others their documentation.

/// What keys begin with, and the program.
const KEY_PROGRAMS: [(&str, &str); 21] = [
    ("/apisix/", "APISIX"),
    ("/bootstrap/", "k3s"),
    ("/calico/", "Calico"),
    ("/coreos.com/network/", "flannel"),
    ("/etcdctl-check-datascale/", "etcdctl check datascale"),
    ("/etcdctl-check-perf/", "etcdctl check perf"),
    ("/kubernetes.io/", "OpenShift's API servers"),
    ("/openshift.io/", "OpenShift's API servers"),
    ("/pdms/", "PD"),
    ("/registry/health", "kine"),
    ("/service/", "Patroni"),
    ("/skydns/", "CoreDNS"),
    ("/traefik/", "Traefik"),
    ("/vcluster/", "vcluster"),
    ("/vitess/", "Vitess"),
    ("calico/", "Calico"),
    ("cilium/", "Cilium"),
    ("compact_rev_key", "kine"),
    ("gap-", "kine"),
    ("k3s/", "k3s"),
    ("rke2/", "RKE2"),
];

/// Returns the program whose key it is; `None` where none is known.
pub(super) fn program_of(key: &[u8]) -> Option<&'static str> {
    KEY_PROGRAMS.iter().find(|(start, _)| key.starts_with(start.as_bytes())).map(|(_, program)| *program)
}

/// Returns what the keys of one program have in common: the first segment, and below `prefix` the second too.
pub(super) fn group_of(prefix: &str, key: &[u8]) -> String {
    let text = String::from_utf8_lossy(key);
    let skipped = if text.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/')) { prefix.len() + 1 } else { 1 };
    let end = text.char_indices().find(|(at, letter)| *at >= skipped && *letter == '/').map_or(text.len(), |(at, _)| at + 1);
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_by_their_keys() {
        assert_eq!(program_of(b"/calico/ipam/v2/host"), Some("Calico"));
        assert_eq!(program_of(b"k3s/etcd/learnerProgress"), Some("k3s"));
        assert_eq!(program_of(b"gap-17"), Some("kine"));
        assert_eq!(program_of(b"/backup-agent/state"), None);
        assert_eq!(program_of(b"/registry/pods/a/b"), None);
    }

    #[test]
    fn keys_are_grouped_by_their_first_segment() {
        assert_eq!(group_of("/registry", b"/backup-agent/state"), "/backup-agent/");
        assert_eq!(group_of("/registry", b"/registry/pods/web-0"), "/registry/pods/");
        assert_eq!(group_of("/registry", b"/registry/odd"), "/registry/odd");
        assert_eq!(group_of("/registry", b"lock/a/b"), "lock/");
        assert_eq!(group_of("/registry", b"\xff"), "\u{fffd}");
    }
}
