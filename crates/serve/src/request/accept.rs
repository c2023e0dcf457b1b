//! What a client accepts: the encoding, and whether it wants objects, a table or metadata alone.
//!
//! Sources: apiserver v0.36 `pkg/endpoints/handlers/negotiation/negotiate.go` and `pkg/endpoints/handlers/rest.go`, and
//! github.com/munnerz/goautoneg `autoneg.go` (a7dc8b61c822), which reads the header; apiextensions-apiserver v0.36
//! `pkg/apiserver/customresource_handler.go` for custom resources.

use axum::http::{HeaderMap, header};
use ketcd_kube::Release;
use ketcd_kube::api::Resource;

use crate::wire::{Encoding, Result, Status};

/// What objects become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// They stay as they are.
    Object,
    /// `Table`, of this version of meta.k8s.io.
    Table(&'static str),
    /// `PartialObjectMetadata`, of this version of meta.k8s.io.
    Metadata(&'static str),
    /// `APIGroupDiscoveryList`, of this version of apidiscovery.k8s.io.
    Discovery(&'static str),
}

/// What was agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// The encoding.
    pub encoding: Encoding,
    /// The shape.
    pub shape: Shape,
}

/// What is asked for, which decides what it can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// Objects of Kubernetes' own kinds.
    Objects,
    /// Custom resources, of an API server of this release.
    CustomObjects(Release),
    /// Lists of groups, versions and resources.
    Discovery,
    /// Documents without messages.
    Document,
    /// A `Status` that says why something else cannot be had.
    Failure,
}

impl Endpoint {
    /// What an API server of this release writes objects of a resource as.
    pub(crate) fn of(resource: &Resource, release: Release) -> Self {
        if resource.custom.is_some() { Self::CustomObjects(release) } else { Self::Objects }
    }
}

/// The first release that writes the metadata of custom resources, and failures to read them, in protobuf (apiextensions-apiserver, commit 04252b3ee).
const CUSTOM_PROTOBUF: Release = Release(15);

impl Endpoint {
    /// The encodings it knows; of several that a wildcard allows, the first is chosen.
    fn encodings(self) -> &'static [Encoding] {
        match self {
            Self::CustomObjects(release) if release < CUSTOM_PROTOBUF => &[Encoding::Json, Encoding::Yaml],
            Self::Document => &[Encoding::Json, Encoding::Yaml],
            _ => &[Encoding::Json, Encoding::Yaml, Encoding::Protobuf],
        }
    }

    /// Whether it can be had in this encoding and shape.
    fn allows(self, encoding: Encoding, shape: Shape) -> bool {
        match (self, shape) {
            (Self::CustomObjects(_), Shape::Object) => encoding != Encoding::Protobuf,
            (_, Shape::Object) => true,
            (Self::Objects | Self::CustomObjects(_), Shape::Table(_)) => encoding != Encoding::Protobuf,
            (Self::Objects | Self::CustomObjects(_), Shape::Metadata(_)) => true,
            (Self::Discovery, Shape::Discovery(_)) => encoding != Encoding::Protobuf,
            _ => false,
        }
    }

    /// The failure of a client that accepts none of its encodings.
    fn refusal(self) -> Box<Status> {
        let types: Vec<&str> = self.encodings().iter().map(|encoding| encoding.media_type()).collect();
        only(&types)
    }

    /// The failure of a client that watches it in an encoding without a stream.
    pub(crate) fn refusal_of_watch(self) -> Box<Status> {
        let streams = self.encodings().iter().filter(|encoding| encoding.has_stream());
        let types: Vec<String> = streams.map(|encoding| format!("{};stream=watch", encoding.media_type())).collect();
        only(&types.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

fn only(types: &[&str]) -> Box<Status> {
    Status::not_acceptable(format!("only the following media types are accepted: {}", types.join(", ")))
}

/// Chooses what to write: the first clause of the header that allows an encoding and a shape that the endpoint has. As upstream, it reads one line of
/// the header.
///
/// # Errors
/// There is none.
pub(crate) fn negotiate(headers: &HeaderMap, endpoint: Endpoint) -> Result<Accepted> {
    let text = headers.get(header::ACCEPT).and_then(|line| line.to_str().ok()).unwrap_or_default();
    if text.is_empty() {
        return Ok(Accepted { encoding: Encoding::Json, shape: Shape::Object });
    }
    let clauses = sorted(text.split(',').filter_map(Clause::parse).collect());
    let mut found =
        clauses.iter().flat_map(|clause| endpoint.encodings().iter().filter_map(|encoding| clause.accepted(*encoding, endpoint)));
    found.next().ok_or_else(|| endpoint.refusal())
}

/// A clause of the header, such as `application/json;as=Table;v=v1;g=meta.k8s.io`.
#[derive(Debug)]
struct Clause<'h> {
    main: &'h str,
    sub: &'h str,
    q: f32,
    params: Vec<(&'h str, &'h str)>,
}

impl<'h> Clause<'h> {
    /// `None` for what upstream passes over.
    fn parse(text: &'h str) -> Option<Self> {
        let blank = |text: &'h str| text.trim_matches(' ');
        let mut parts = blank(text).split(';');
        let media_type = parts.next()?;
        let (main, sub) = match media_type.split_once('/') {
            Some((main, sub)) if !sub.is_empty() => (blank(main), blank(sub.strip_suffix('/').unwrap_or(sub))),
            _ if blank(media_type.trim_end_matches('/')) == "*" => ("*", "*"),
            _ => return None,
        };
        if sub.contains('/') {
            return None;
        }
        let mut clause = Self { main, sub, q: 1.0, params: Vec::new() };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            let value = value.strip_suffix('=').unwrap_or(value);
            match blank(name) {
                _ if value.is_empty() || value.contains('=') => {}
                "q" => clause.q = value.parse().unwrap_or(0.0),
                name => clause.params.push((name, blank(value))),
            }
        }
        Some(clause)
    }

    /// Whether it comes before another. This is not an ordering: a wildcard comes after an exact type, whatever its `q`.
    fn is_before(&self, other: &Self) -> bool {
        self.q > other.q || self.main != "*" && other.main == "*" || self.sub != "*" && other.sub == "*"
    }

    /// What it accepts of an endpoint in an encoding.
    fn accepted(&self, encoding: Encoding, endpoint: Endpoint) -> Option<Accepted> {
        let (main, sub) = encoding.media_type().split_once('/')?;
        let is_named = (self.main, self.sub) == (main, sub) || self.main == main && self.sub == "*" || (self.main, self.sub) == ("*", "*");
        // If a parameter is given twice, the last one counts.
        let param = |wanted: &str| self.params.iter().rev().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
        let is_stream = param("stream").is_none_or(|stream| stream.is_empty() || stream == "watch" && encoding.has_stream());
        let is_version = param("sv").is_none_or(|version| version.is_empty() || version == "v1" && endpoint != Endpoint::Failure);
        let shape = shape(param("as"), param("g"), param("v"))?;
        (is_named && is_stream && is_version && endpoint.allows(encoding, shape)).then_some(Accepted { encoding, shape })
    }
}

/// What objects become by the parameters `as`, `g` and `v`; `None` where there is no such shape.
fn shape(kind: Option<&str>, group: Option<&str>, version: Option<&str>) -> Option<Shape> {
    let version = ["v1", "v1beta1", "v2", "v2beta1"].into_iter().find(|known| Some(*known) == version).or(version.map(|_| ""));
    match (kind, group, version) {
        (None, None, None) => Some(Shape::Object),
        (Some("Table"), Some("meta.k8s.io"), Some(version @ ("v1" | "v1beta1"))) => Some(Shape::Table(version)),
        (Some("PartialObjectMetadata" | "PartialObjectMetadataList"), Some("meta.k8s.io"), Some(version @ ("v1" | "v1beta1"))) => {
            Some(Shape::Metadata(version))
        }
        (Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some(version @ ("v2" | "v2beta1"))) => Some(Shape::Discovery(version)),
        _ => None,
    }
}

/// Sorts as Go's `sort.Sort` does up to twelve clauses, by insertion: with an order that is none, it matters how.
fn sorted(mut clauses: Vec<Clause<'_>>) -> Vec<Clause<'_>> {
    for end in 1..clauses.len() {
        let mut at = end;
        while at > 0 && clauses[at].is_before(&clauses[at - 1]) {
            clauses.swap(at, at - 1);
            at -= 1;
        }
    }
    clauses
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUSTOM_ENDPOINT: Endpoint = Endpoint::CustomObjects(Release(36));

    fn negotiated(accept: &str, endpoint: Endpoint) -> Result<Accepted> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().unwrap());
        negotiate(&headers, endpoint)
    }

    fn check(endpoint: Endpoint, accept: &str, wanted: Option<(Encoding, Shape)>) {
        let found = negotiated(accept, endpoint).ok().map(|accepted| (accepted.encoding, accepted.shape));
        assert_eq!(found, wanted, "{accept}");
    }

    #[test]
    fn the_first_that_can_be_written_is_chosen() {
        check(CUSTOM_ENDPOINT, "", Some((Encoding::Json, Shape::Object)));
        check(CUSTOM_ENDPOINT, "*/*", Some((Encoding::Json, Shape::Object)));
        check(CUSTOM_ENDPOINT, "*", Some((Encoding::Json, Shape::Object)));
        check(CUSTOM_ENDPOINT, "application/*", Some((Encoding::Json, Shape::Object)));
        check(CUSTOM_ENDPOINT, "application/json;q=0.5, application/yaml", Some((Encoding::Yaml, Shape::Object)));
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        check(CUSTOM_ENDPOINT, table, Some((Encoding::Json, Shape::Table("v1"))));
        check(
            CUSTOM_ENDPOINT,
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            Some((Encoding::Json, Shape::Metadata("v1"))),
        );
        check(CUSTOM_ENDPOINT, "application/json;as=Chart;g=meta.k8s.io;v=v1,application/json", Some((Encoding::Json, Shape::Object)));
        check(CUSTOM_ENDPOINT, "text/html", None);
        check(CUSTOM_ENDPOINT, "application/json;stream=other", None);
        check(CUSTOM_ENDPOINT, "application/yaml;stream=watch", None);
        check(CUSTOM_ENDPOINT, "application/json;sv=v1", Some((Encoding::Json, Shape::Object)));
        check(Endpoint::Failure, "application/json;sv=v1", None);
    }

    #[test]
    fn wildcards_come_last_whatever_their_weight() {
        check(CUSTOM_ENDPOINT, "*/*, application/yaml;q=0.1", Some((Encoding::Yaml, Shape::Object)));
        check(CUSTOM_ENDPOINT, "application/*, application/yaml;q=0.1", Some((Encoding::Yaml, Shape::Object)));
        check(CUSTOM_ENDPOINT, "application/yaml;q=high, application/json;q=0.1", Some((Encoding::Json, Shape::Object)));
    }

    #[test]
    fn custom_resources_have_protobuf_for_their_metadata_alone() {
        check(CUSTOM_ENDPOINT, "application/vnd.kubernetes.protobuf,application/json", Some((Encoding::Json, Shape::Object)));
        check(CUSTOM_ENDPOINT, "application/vnd.kubernetes.protobuf, */*", Some((Encoding::Json, Shape::Object)));
        check(Endpoint::Objects, "application/vnd.kubernetes.protobuf, */*", Some((Encoding::Protobuf, Shape::Object)));
        check(CUSTOM_ENDPOINT, "application/vnd.kubernetes.protobuf", None);
        let metadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
        check(CUSTOM_ENDPOINT, metadata, Some((Encoding::Protobuf, Shape::Metadata("v1"))));
        check(Endpoint::CustomObjects(Release(14)), metadata, Some((Encoding::Json, Shape::Object)));
        check(Endpoint::Objects, "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1", None);
    }

    #[test]
    fn refusals_name_what_the_serializer_knows() {
        let message = |endpoint, accept: &str| negotiated(accept, endpoint).unwrap_err().to_json()["message"].as_str().unwrap().to_owned();
        let all = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";
        assert_eq!(message(CUSTOM_ENDPOINT, "application/vnd.kubernetes.protobuf"), all);
        assert_eq!(message(Endpoint::Objects, "text/html"), all);
        let two = "only the following media types are accepted: application/json, application/yaml";
        assert_eq!(message(Endpoint::CustomObjects(Release(14)), "application/vnd.kubernetes.protobuf"), two);
    }
}
