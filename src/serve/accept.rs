//! What a client accepts: the encoding, and whether it wants objects, a table or metadata alone.

use axum::http::{HeaderMap, header};

use super::protobuf;
use super::status::{Result, Status};

/// How a response is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// `application/json`.
    Json,
    /// `application/yaml`.
    Yaml,
    /// `application/vnd.kubernetes.protobuf`.
    Protobuf,
}

impl Encoding {
    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => protobuf::MEDIA_TYPE,
        }
    }
}

/// What objects become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
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
pub(super) struct Accepted {
    /// The encoding.
    pub encoding: Encoding,
    /// The shape.
    pub shape: Shape,
}

/// Chooses the first of the media types a client accepts that can be written; one of greater `q` comes first. `has_protobuf` says whether what is
/// asked for can be written in protobuf; the metadata of everything can.
pub(super) fn negotiate(headers: &HeaderMap, has_protobuf: bool) -> Result<Accepted> {
    let json = Accepted { encoding: Encoding::Json, shape: Shape::Object };
    let lines = headers.get_all(header::ACCEPT);
    let accepted: Vec<&str> = lines.iter().filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(',')).collect();
    let is_possible =
        |accepted: &Accepted| accepted.encoding != Encoding::Protobuf || has_protobuf || matches!(accepted.shape, Shape::Metadata(_));
    let known: Vec<(f32, Accepted)> = accepted.iter().filter_map(|clause| parse(clause)).collect();
    let mut clauses: Vec<&(f32, Accepted)> = known.iter().filter(|(_, accepted)| is_possible(accepted)).collect();
    if accepted.iter().all(|clause| clause.trim().is_empty()) {
        return Ok(json);
    }
    clauses.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    clauses.first().map(|(_, accepted)| *accepted).ok_or_else(|| {
        let (types, why) = match (has_protobuf, known.is_empty()) {
            (true, _) => (", application/vnd.kubernetes.protobuf", ""),
            (false, true) => ("", ""),
            (false, false) => ("", "; this has no protobuf: custom resources are JSON"),
        };
        let asked = accepted.join(",");
        Status::not_acceptable(format!(
            "only the following media types are accepted: application/json, application/yaml{types} (asked for: {asked}{why})"
        ))
    })
}

/// One clause, such as `application/json;as=Table;v=v1;g=meta.k8s.io`.
fn parse(clause: &str) -> Option<(f32, Accepted)> {
    let mut parts = clause.split(';').map(str::trim);
    let encoding = match parts.next()? {
        "application/json" | "*/*" | "application/*" => Encoding::Json,
        "application/yaml" => Encoding::Yaml,
        protobuf::MEDIA_TYPE => Encoding::Protobuf,
        _ => return None,
    };
    let (mut kind, mut group, mut version, mut q) = ("", "", "", 1.0);
    for part in parts {
        match part.split_once('=')? {
            ("as", value) => kind = value,
            ("g", value) => group = value,
            ("v", value) => version = value,
            ("q", value) => q = value.parse().ok()?,
            _ => {}
        }
    }
    let version = ["v1", "v1beta1", "v2", "v2beta1"].into_iter().find(|known| *known == version);
    let shape = match (kind, group, version) {
        ("", ..) => Shape::Object,
        ("Table", "meta.k8s.io", Some(version @ ("v1" | "v1beta1"))) => Shape::Table(version),
        ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", Some(version @ ("v1" | "v1beta1"))) => {
            Shape::Metadata(version)
        }
        ("APIGroupDiscoveryList", "apidiscovery.k8s.io", Some(version @ ("v2" | "v2beta1"))) => Shape::Discovery(version),
        _ => return None,
    };
    // Neither has messages.
    if encoding == Encoding::Protobuf && matches!(shape, Shape::Table(_) | Shape::Discovery(_)) {
        return None;
    }
    Some((q, Accepted { encoding, shape }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(accept: &str, wanted: Option<(Encoding, Shape)>) {
        check_of(false, accept, wanted);
    }

    fn check_of(has_protobuf: bool, accept: &str, wanted: Option<(Encoding, Shape)>) {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().unwrap());
        let found = negotiate(&headers, has_protobuf).ok().map(|accepted| (accepted.encoding, accepted.shape));
        assert_eq!(found, wanted, "{accept}");
    }

    #[test]
    fn the_first_that_can_be_written_is_chosen() {
        check("", Some((Encoding::Json, Shape::Object)));
        check("*/*", Some((Encoding::Json, Shape::Object)));
        check("application/vnd.kubernetes.protobuf,application/json", Some((Encoding::Json, Shape::Object)));
        check("application/json;q=0.5, application/yaml", Some((Encoding::Yaml, Shape::Object)));
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        check(table, Some((Encoding::Json, Shape::Table("v1"))));
        check("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", Some((Encoding::Json, Shape::Metadata("v1"))));
        check("application/json;as=Chart;g=meta.k8s.io;v=v1,application/json", Some((Encoding::Json, Shape::Object)));
        check("application/vnd.kubernetes.protobuf", None);
        check("application/vnd.kubernetes.protobuf, */*", Some((Encoding::Json, Shape::Object)));
        check_of(true, "application/vnd.kubernetes.protobuf, */*", Some((Encoding::Protobuf, Shape::Object)));
        let metadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
        check(metadata, Some((Encoding::Protobuf, Shape::Metadata("v1"))));
        check_of(true, "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1", None);
        check("text/html", None);
    }
}
