//! References to images: what is somebody's goes, the form of the reference stays.

use crate::keyed::Keyed;
use crate::names::Names;
use crate::vocabulary::is_public_repository;

/// The parts of `registry/folder/name:tag@sha256:…`.
struct Reference<'a> {
    scheme: &'a str,
    host: Option<&'a str>,
    path: &'a str,
    tag: Option<&'a str>,
    digest: Option<&'a str>,
}

impl<'a> Reference<'a> {
    /// Reads a reference, by the grammar of `distribution/reference`.
    fn new(text: &'a str) -> Self {
        let (scheme, rest) = text.find("://").map_or(("", text), |at| text.split_at(at + 3));
        let (rest, digest) = rest.split_once('@').map_or((rest, None), |(rest, digest)| (rest, Some(digest)));
        let (rest, tag) = match rest.rsplit_once(':') {
            Some((before, tag)) if !tag.contains('/') => (before, Some(tag)),
            _ => (rest, None),
        };
        let (host, path) = match rest.split_once('/') {
            Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => (Some(host), path),
            _ => (None, rest),
        };
        Self { scheme, host, path, tag, digest }
    }
}

/// Whether an image is part of Kubernetes itself, so that its name tells the release and nothing of whose cluster it is.
pub(crate) fn is_public(text: &str) -> bool {
    let reference = Reference::new(text);
    reference.host.is_some_and(|host| is_public_repository(&format!("{host}/{}", reference.path)))
}

/// The pseudonym of a reference: equal images have equal ones, and so have their repositories.
pub(crate) fn image(names: &mut Names, keyed: &Keyed, text: &str) -> String {
    if text.is_empty() || is_public(text) {
        return text.to_owned();
    }
    let reference = Reference::new(text);
    let mut mapped = reference.scheme.to_owned();
    let is_id = |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some(host) = reference.host {
        mapped.push_str(&names.name(host));
        mapped.push('/');
    }
    // Behind `sha256:` alone is an id.
    let is_algorithm = reference.path == "sha256" && reference.tag.is_some_and(is_id);
    mapped.push_str(&if is_algorithm || reference.path == "library" { reference.path.to_owned() } else { path(names, reference.path) });
    if let Some(tag) = reference.tag {
        mapped.push(':');
        mapped.push_str(&if is_id(tag) { keyed.hex("image digest", tag, 64) } else { self::tag(names, tag) });
    }
    if let Some(digest) = reference.digest {
        let (algorithm, digits) = digest.split_once(':').unwrap_or(("sha256", digest));
        mapped.push_str(&format!("@{algorithm}:{}", keyed.hex("image digest", digits, digits.len().min(64))));
    }
    mapped
}

fn path(names: &mut Names, path: &str) -> String {
    let mut rest = path;
    let mut mapped = String::new();
    // `library/nginx` is `nginx`.
    if let Some(below) = rest.strip_prefix("library/") {
        mapped.push_str("library/");
        rest = below;
    }
    mapped + &names.name(rest)
}

/// A version stays; any other tag is a name.
fn tag(names: &mut Names, tag: &str) -> String {
    let version = tag.strip_prefix('v').unwrap_or(tag);
    let is_version = version.starts_with(|c: char| c.is_ascii_digit()) && version.split(['.', '-', '+', '_']).all(is_version_part);
    if is_version || matches!(tag, "latest" | "stable" | "main" | "master" | "edge" | "nightly") { tag.to_owned() } else { names.name(tag) }
}

fn is_version_part(part: &str) -> bool {
    const WORDS: [&str; 7] = ["alpine", "slim", "rc", "alpha", "beta", "eksbuild", "debian"];
    let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
    part.len() <= 10 && (word.is_empty() || WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_a_reference_stays() {
        let keyed = Keyed::new(b"salt");
        let mut names = Names::new(keyed.clone());
        let mut map = |text: &str| image(&mut names, &keyed, text);
        assert_eq!(map("registry.k8s.io/kube-scheduler:v1.36.3"), "registry.k8s.io/kube-scheduler:v1.36.3");
        let digest = "a".repeat(64);
        let (tagged, pinned) = (map("reg.acme.com:5000/shop/api:v1.2.3"), map(&format!("reg.acme.com:5000/shop/api@sha256:{digest}")));
        assert!(tagged.ends_with(":v1.2.3") && !tagged.contains("acme") && !tagged.contains("shop"), "{tagged}");
        assert!(pinned.starts_with(tagged.trim_end_matches(":v1.2.3")) && !pinned.contains(&digest) && pinned.len() > 70, "{pinned}");
        assert_eq!(map("docker.io/library/nginx:1.25-alpine"), format!("docker.io/library/{}", map("nginx:1.25-alpine")));
        assert!(map("quay.io/acme/api:v1").starts_with("quay.io/") && !map("quay.io/acme/api:v1").contains("acme"));
        assert!(!map("api:feature-login").contains("login"));
        assert!(map(&format!("sha256:{digest}")).starts_with("sha256:") && !map(&format!("sha256:{digest}")).contains(&digest));
        assert!(map(&format!("docker-pullable://api@sha256:{digest}")).starts_with("docker-pullable://"));
    }
}
