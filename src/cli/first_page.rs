//! What `ketcd` alone prints: a first page that fits a terminal of 24 lines and 80 columns.

/// The page.
pub(super) const PAGE: &str = "\
ketcd reads Kubernetes out of etcd: what is there, what happened, and why each
pod runs where it runs. It never writes to etcd.

It reads the live etcd that ETCDCTL_* variables or flags name, or with -f PATH a
snapshot, a member's db file or data dir, a recording, or kubectl's objects.

What does this etcd or file hold?
  ketcd -f snapshot.db status

What was there ten minutes ago?
  ketcd get pod/shop/web-0 --at -10m

What happened to a pod, a node or a namespace, and who did it?
  ketcd timeline pod/shop/web-0

Why does a pod run on its node, or on none?
  ketcd explain pod/shop/web-0

All commands and flags: ketcd --help; of one command: ketcd timeline --help
";
