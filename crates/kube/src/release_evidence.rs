//! The release of an API server, as far as its objects in etcd show it.

use super::release::Release;

/// What was seen of a cluster's version.
#[derive(Clone, Debug, Default)]
pub struct ReleaseEvidence {
    /// Names of stored APIServices: `version.group`, or `version` with a dot for the core group.
    served: Vec<String>,
    kubelet: Option<Release>,
}

/// Versions every server of these releases serves unless configured otherwise, and so keeps an APIService for: the release that brought it.
/// Source: Kubernetes' API reference of each release.
const SERVED_SINCE: &[(&str, u16)] = &[
    ("v1.apps", 9),
    ("v1.coordination.k8s.io", 14),
    ("v1.scheduling.k8s.io", 14),
    ("v1.apiextensions.k8s.io", 16),
    ("v1.admissionregistration.k8s.io", 16),
    ("v1.events.k8s.io", 19),
    ("v1.certificates.k8s.io", 19),
    ("v1.node.k8s.io", 20),
    ("v1.discovery.k8s.io", 21),
    ("v1.policy", 21),
    ("v2.autoscaling", 23),
    ("v1.flowcontrol.apiserver.k8s.io", 29),
    ("v1.resource.k8s.io", 34),
    ("v1.storagemigration.k8s.io", 37),
];

/// Versions that were removed: the first and the last release that had them.
const SERVED_UNTIL: &[(&str, u16, u16)] = &[
    ("v1beta1.apps", 8, 15),
    ("v1beta2.apps", 8, 15),
    ("v1beta1.extensions", 8, 21),
    ("v1beta1.apiextensions.k8s.io", 8, 21),
    ("v1beta1.apiregistration.k8s.io", 8, 21),
    ("v1beta1.authentication.k8s.io", 8, 21),
    ("v1beta1.authorization.k8s.io", 8, 21),
    ("v1beta1.rbac.authorization.k8s.io", 8, 21),
    ("v1beta1.batch", 8, 24),
    ("v1beta1.discovery.k8s.io", 17, 24),
    ("v1beta1.events.k8s.io", 8, 24),
    ("v1beta1.node.k8s.io", 14, 24),
    ("v1beta1.policy", 8, 24),
    ("v2beta1.autoscaling", 8, 24),
    ("v2beta2.autoscaling", 12, 25),
    ("v1beta1.flowcontrol.apiserver.k8s.io", 20, 25),
    ("v1beta2.flowcontrol.apiserver.k8s.io", 23, 28),
    ("v1beta3.flowcontrol.apiserver.k8s.io", 26, 31),
];

impl ReleaseEvidence {
    /// An APIService is stored under this name.
    pub fn saw_api_service(&mut self, name: &str) {
        self.served.push(name.to_owned());
    }

    /// A node's kubelet is of this version. Kubelets are never newer than the API server.
    pub fn saw_kubelet(&mut self, version: &str) {
        self.kubelet = self.kubelet.max(version.parse().ok());
    }

    /// The most likely release: that of the newest kubelet within what the APIServices allow. `None` where nothing was seen.
    pub fn release(&self) -> Option<Release> {
        self.bounds().map(|(oldest, newest)| if self.kubelet.is_some() { oldest } else { newest })
    }

    /// The oldest and the newest release it can be. `None` where nothing was seen.
    pub fn bounds(&self) -> Option<(Release, Release)> {
        let (mut oldest, mut newest) = (Release::OLDEST.0, Release::NEWEST.0);
        let served = |name: &str| self.served.iter().any(|served| served == name);
        if !self.served.is_empty() {
            for &(name, since) in SERVED_SINCE {
                if served(name) { oldest = oldest.max(since) } else { newest = newest.min(since - 1) }
            }
            for &(_, since, until) in SERVED_UNTIL.iter().filter(|(name, ..)| served(name)) {
                (oldest, newest) = (oldest.max(since), newest.min(until));
            }
        } else if self.kubelet.is_none() {
            return None;
        }
        let newest = newest.max(oldest);
        let oldest = self.kubelet.map_or(oldest, |kubelet| kubelet.0.clamp(oldest, newest));
        Some((Release(oldest), Release(newest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(served: &[&str], kubelets: &[&str]) -> Option<u16> {
        let mut evidence = ReleaseEvidence::default();
        served.iter().for_each(|name| evidence.saw_api_service(name));
        kubelets.iter().for_each(|version| evidence.saw_kubelet(version));
        evidence.release().map(|release| release.0)
    }

    /// The APIServices of a server of some release, as far as the tables show.
    fn services(minor: u16) -> Vec<&'static str> {
        let since = SERVED_SINCE.iter().filter(|row| row.1 <= minor).map(|row| row.0);
        let until = SERVED_UNTIL.iter().filter(|row| row.1 <= minor && minor <= row.2).map(|row| row.0);
        since.chain(until).collect()
    }

    #[test]
    fn the_newest_kubelet_decides_within_what_is_served() {
        for minor in 8..=37 {
            assert_eq!(release(&services(minor), &[&format!("v1.{minor}.2")]), Some(minor));
        }
        assert_eq!(release(&services(36), &["v1.24.17"]), Some(34));
        assert_eq!(release(&services(20), &["v1.20.2", "v1.19.1"]), Some(20));
        assert_eq!(release(&[], &["v1.29.0"]), Some(29));
        assert_eq!(release(&[], &[]), None);
        assert_eq!(release(&[], &["fake"]), None);
        assert_eq!(release(&services(33), &[]), Some(33));
    }
}
