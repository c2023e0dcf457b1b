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
        is_of(name, self.group, self.version)
    }
}

/// Whether an APIService of this name is of a group and version.
fn is_of(name: &str, group: &str, version: &str) -> bool {
    name.split_once('.') == Some((version, group))
}

/// The groups and versions that servers of every known release serve by default: a list of APIServices that lacks one of them is a part of one, such
/// as the aggregated ones alone that a dump holds.
fn always_served() -> impl Iterator<Item = (&'static str, &'static str)> {
    let groups = VERSIONS.chunk_by(|a, b| (a.group, a.version) == (b.group, b.version));
    let always = |first: u16, last: u16| first <= Release::OLDEST.0 && last == u16::MAX;
    let groups = groups.filter(move |rows| rows.iter().filter_map(|row| row.served).any(|(first, last)| always(first, last)));
    groups.map(|rows| (rows[0].group, rows[0].version)).filter(|(group, _)| *group != "apiregistration.k8s.io")
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

    /// The most likely release: that of the newest kubelet, or of what the APIServices allow where that is newer; without kubelets the newest that
    /// all APIServices allow. `None` where neither nodes nor all APIServices were seen: some of these show no more than a range.
    pub fn release(&self) -> Option<Release> {
        let (oldest, newest) = self.bounds()?;
        match self.kubelet {
            Some(_) => Some(oldest),
            None => self.is_whole().then_some(newest),
        }
    }

    /// The oldest and the newest release it can be. `None` where nothing was seen that tells releases apart.
    pub fn bounds(&self) -> Option<(Release, Release)> {
        let (mut oldest, mut newest) = (Release::OLDEST.0, Release::NEWEST.0);
        let (is_whole, mut has_any) = (self.is_whole(), self.kubelet.is_some());
        for witness in Witness::all() {
            let is_served = self.served.iter().any(|name| witness.is_named(name));
            has_any |= is_served || is_whole;
            match (is_served, witness.last) {
                (true, last) => (oldest, newest) = (oldest.max(witness.first), newest.min(last.unwrap_or(newest))),
                (false, None) if is_whole => newest = newest.min(witness.first - 1),
                (false, _) => {}
            }
        }
        let oldest = self.kubelet.map_or(oldest, |kubelet| oldest.max(kubelet.0));
        has_any.then(|| (Release(oldest), Release(newest.max(oldest))))
    }

    /// Whether all APIServices were seen, so that one that was not is none: the server's own are among them.
    fn is_whole(&self) -> bool {
        always_served().all(|(group, version)| self.served.iter().any(|name| is_of(name, group, version)))
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
        let served = served.map(|own| (own.group, own.version)).chain(always_served());
        served.map(|(group, version)| format!("{version}.{group}")).collect()
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
    /// A dump may hold the aggregated APIServices alone, or a few that somebody asked for.
    #[test]
    fn some_api_services_do_not_make_a_server_old() {
        let metrics = || "v1beta1.metrics.k8s.io".to_owned();
        let few = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for served in [vec![metrics()], few(&["v1.route.openshift.io", "v1.apps.openshift.io"]), few(&["v1.", "v1.apps"])] {
            assert_eq!(release(&served, &["v1.31.4"]), Some(31), "{served:?}");
            assert_eq!(release(&served, &[]), None, "{served:?}");
        }
        // One that is there shows the oldest release all the same.
        assert_eq!(release(&few(&["v1.policy"]), &["v1.19.1"]), Some(21));
        assert_eq!(release(&[services(20), vec![metrics()]].concat(), &[]), Some(20));
    }

    /// Kubelets are never newer than their API server (Kubernetes' version skew policy), whatever else seems to say so.
    #[test]
    fn the_release_is_never_below_a_kubelets() {
        for minor in 8..=36 {
            assert_eq!(release(&services(minor), &["v1.37.2", "v1.9.1"]), Some(37), "{minor}");
        }
    }
}
