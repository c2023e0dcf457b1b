//! The release of the etcd that will run, and what its tools can do.
//!
//! etcd's CHANGELOG-3.5.md (3.5.10, PR 16165) and CHANGELOG-3.6.md (3.6.0, PR 16029): `etcdutl snapshot restore` takes `--bump-revision` and
//! `--mark-compacted` since. etcd 3.4 has no etcdutl: `etcdctl snapshot restore` does the same without them.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EtcdRelease {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

/// The first release of 3.5 whose etcdutl raises revisions.
const FIRST_BUMP: EtcdRelease = EtcdRelease { major: 3, minor: 5, patch: 10 };

impl EtcdRelease {
    /// Reads a release as versions and tags of images write it: `3.6.4`, `v3.5.21`, `3.5.6-0`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut numbers = text.splitn(3, '.').map(|part| {
            let digits = part.split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default();
            digits.parse::<u32>().ok()
        });
        Some(Self { major: numbers.next()??, minor: numbers.next()??, patch: numbers.next()?? })
    }

    /// The release of an image: `registry.k8s.io/etcd:3.6.4-0`.
    pub(super) fn of_image(image: &str) -> Option<Self> {
        let name = image.split('@').next()?;
        Self::parse(name.rsplit_once(':')?.1)
    }

    /// Whether its etcdutl raises revisions.
    pub(super) fn bumps(self) -> bool {
        self >= FIRST_BUMP
    }

    pub(super) fn has_etcdutl(self) -> bool {
        (self.major, self.minor) >= (3, 5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_from_versions_and_images() {
        let of = |major, minor, patch| Some(EtcdRelease { major, minor, patch });
        assert_eq!(EtcdRelease::parse("3.6.4"), of(3, 6, 4));
        assert_eq!(EtcdRelease::of_image("registry.k8s.io/etcd:3.5.6-0"), of(3, 5, 6));
        assert_eq!(EtcdRelease::of_image("localhost:5000/etcd:v3.4.13@sha256:00"), of(3, 4, 13));
        assert_eq!((EtcdRelease::of_image("etcd"), EtcdRelease::parse("3.6")), (None, None));
    }

    #[test]
    fn since_3_5_10_revisions_can_be_raised() {
        let bumps = |text| EtcdRelease::parse(text).unwrap().bumps();
        assert!(bumps("3.5.10") && bumps("3.6.0") && bumps("3.7.3"));
        assert!(!bumps("3.5.9") && !bumps("3.4.40"));
        assert!(!EtcdRelease::parse("3.4.40").unwrap().has_etcdutl());
    }
}
