//! Keys of objects that expire with a lease, though API servers give their kind none.
//!
//! Source: only registries with a `TTLFunc` attach leases. In Kubernetes that is the one of Events (kubernetes v1.37,
//! `pkg/registry/core/event/storage/storage.go`); `masterleases` and `peerserverleases` have leases too and are not objects (`pkg/controlplane/reconcilers`).
//! OpenShift's OAuth tokens have them (oauth-apiserver, `pkg/oauth/apiserver/registry/oauthaccesstoken/etcd/etcd.go`), and aggregated API servers may
//! have kinds of their own: only Kubernetes' kinds and custom resources count. Many keys may share one lease (apiserver v0.37,
//! `pkg/storage/etcd3/lease_manager.go`), which is not looked at.

use ketcd_store::EventKind;

use super::super::finding::Weight;
use super::change::Change;
use super::evidence::{Evidence, Found};
use super::rule::{Rule, TamperingFacts};

/// The kind whose objects expire.
const EXPIRING_KIND: &str = "Event";

/// Looks at leases.
pub(super) struct Lease;

impl Rule for Lease {
    fn see(&mut self, change: &Change<'_>, _: &TamperingFacts<'_>, found: &mut Found) {
        if change.kind != EventKind::Put || change.version.lease == 0 {
            return;
        }
        let kind = change.own_kind().or_else(|| change.resource().filter(|kind| kind.is_custom()));
        if kind.is_some_and(|kind| kind.kind != EXPIRING_KIND) {
            let says = "the key expires with a lease, which API servers give to no object of this kind";
            let fact = format!("it is attached to the lease {:x}", change.version.lease);
            found.add(Evidence::new(change.revision(), change.key(), Weight::High, says).because(fact));
        }
    }

    fn needs_no_history(&self) -> bool {
        true
    }
}
