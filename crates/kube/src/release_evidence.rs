//! The release of an API server, as far as its objects in etcd show it.

use super::proto::versions::VERSIONS;
use super::release::Release;

/// What was seen of a cluster's version.
#[derive(Clone, Debug, Default)]
pub struct ReleaseEvidence {
    /// Names of stored APIServices: `version.group`, or `version` with a dot for the core group.
    served: Vec<String>,
    kubelet: Option<Release>,
}

/// A group and version whose APIService, kept by every server that serves it, tells releases apart.
struct Witness {
    group: &'static str,
    version: &'static str,
    /// The first release that serves it by default.
    first: u16,
    /// The last; `None` where none is known to have removed it.
    last: Option<u16>,
}

impl Witness {
    /// Those that came after the oldest release, and those that were removed. A version that kinds can still be served in, though none is by default,
    /// shows nothing. (An aggregator keeps no APIService of its own group's current version.)
    fn all() -> impl Iterator<Item = Self> {
        let groups = VERSIONS.chunk_by(|a, b| (a.group, a.version) == (b.group, b.version));
        groups.filter_map(|rows| {
            let served: Vec<(u16, u16)> = rows.iter().filter_map(|row| row.served).collect();
            let first = served.iter().map(|served| served.0).min()?.max(Release::OLDEST.0);
            let last = served.iter().map(|served| served.1).max().filter(|last| *last != u16::MAX);
            let (group, version) = (rows[0].group, rows[0].version);
            let counts = match last {
                Some(_) => served.len() == rows.len(),
                None => first > Release::OLDEST.0 && group != "apiregistration.k8s.io",
            };
            counts.then_some(Self { group, version, first, last })
        })
    }

    fn is_named(&self, name: &str) -> bool {
        name.split_once('.') == Some((self.version, self.group))
    }
}

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
        let served = |witness: &Witness| self.served.iter().any(|name| witness.is_named(name));
        if !self.served.is_empty() {
            for witness in Witness::all() {
                match (served(&witness), witness.last) {
                    (true, last) => (oldest, newest) = (oldest.max(witness.first), newest.min(last.unwrap_or(newest))),
                    (false, None) => newest = newest.min(witness.first - 1),
                    (false, Some(_)) => {}
                }
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

    fn release(served: &[String], kubelets: &[&str]) -> Option<u16> {
        let mut evidence = ReleaseEvidence::default();
        served.iter().for_each(|name| evidence.saw_api_service(name));
        kubelets.iter().for_each(|version| evidence.saw_kubelet(version));
        evidence.release().map(|release| release.0)
    }

    /// The APIServices of a server of some release, as far as the tables show.
    fn services(minor: u16) -> Vec<String> {
        let served = Witness::all().filter(|own| own.first <= minor && own.last.is_none_or(|last| minor <= last));
        served.map(|own| format!("{}.{}", own.version, own.group)).collect()
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
