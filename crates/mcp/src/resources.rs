//! The resources: objects at a revision, the schemas of the JSON, and pages of the documentation.

use ketcd_render::contract::{self, JSON_CONTRACTS};
use rmcp::model::{Resource, ResourceTemplate};

use crate::answers::{Form, Question, Refusal};
use crate::told::quoted;

/// What each address begins with.
const SCHEME: &str = "ketcd://";
/// The longest address.
const MAX_URI_BYTES: usize = 1 << 10;

/// A page of the documentation.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Its name in addresses.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// The page, in Markdown.
    pub text: &'static str,
}

/// What is read.
#[derive(Debug)]
pub(crate) enum Read {
    /// What is part of the program: its form and its text.
    Text(&'static str, String),
    /// An object of the cluster.
    Object(Question),
}

/// The resources that can be listed; objects are not, as they are many.
pub(crate) fn list(pages: &[Page]) -> Vec<Resource> {
    let schema = |of: &contract::Contract| {
        Resource::new(format!("{SCHEME}schema/{}", of.command), of.name()).with_mime_type("application/schema+json")
    };
    let page = |page: &Page| Resource::new(format!("{SCHEME}docs/{}", page.name), page.title).with_mime_type("text/markdown");
    pages.iter().map(page).chain(JSON_CONTRACTS.iter().map(schema)).collect()
}

/// The addresses of objects.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let template = |of: &str, name: &str, about: &str| {
        ResourceTemplate::new(format!("{SCHEME}{of}"), name).with_description(about).with_mime_type("application/yaml")
    };
    vec![
        template(
            "{kind}/{namespace}/{name}@{revision}",
            "object",
            "An object as it was at a revision, as YAML; without @revision, the newest",
        ),
        template("{kind}/{name}@{revision}", "cluster object", "An object without a namespace, such as a node, as it was at a revision"),
    ]
}

/// Finds what an address names.
///
/// # Errors
/// It names nothing: how addresses look.
pub(crate) fn read(uri: &str, pages: &[Page]) -> Result<Read, Refusal> {
    let rest = uri.strip_prefix(SCHEME).unwrap_or_default();
    if let Some(page) = rest.strip_prefix("docs/").and_then(|name| pages.iter().find(|page| page.name == name)) {
        return Ok(Read::Text("text/markdown", page.text.to_owned()));
    }
    if let Some(of) = rest.strip_prefix("schema/").and_then(contract::find) {
        return Ok(Read::Text("application/schema+json", serde_json::to_string(&of.schema()).unwrap_or_default()));
    }
    if rest.starts_with("docs/") || rest.starts_with("schema/") {
        return Err(Refusal(format!("{} is not a resource; resources/list names the pages and schemas there are", quoted(uri))));
    }
    object_of(uri).map(Read::Object)
}

/// Reads the address of an object, such as `ketcd://pod/web/crasher@1651`.
///
/// # Errors
/// It has another form.
pub fn object_of(uri: &str) -> Result<Question, Refusal> {
    let wrong = || {
        Refusal(format!(
            "{} is not a resource; write ketcd://kind/namespace/name@revision, ketcd://kind/name@revision, or one that is listed",
            quoted(uri)
        ))
    };
    let rest = uri.strip_prefix(SCHEME).filter(|_| uri.len() <= MAX_URI_BYTES).ok_or_else(wrong)?;
    let is_revision = |text: &str| !text.is_empty() && text.len() < 19 && text.bytes().all(|byte| byte.is_ascii_digit());
    let (address, at) = match rest.rsplit_once('@') {
        Some((address, revision)) if is_revision(revision) => (address, Some(revision.to_owned())),
        _ => (rest, None),
    };
    let parts: Vec<&str> = address.split('/').collect();
    let is_part =
        |part: &&str| !part.is_empty() && !part.starts_with(['.', '-']) && !part.contains(|c: char| c.is_control() || c.is_whitespace());
    if !(2..=3).contains(&parts.len()) || !parts.iter().all(is_part) {
        return Err(wrong());
    }
    let words = vec!["get".to_owned(), "--".to_owned(), address.to_owned()];
    Ok(Question { words, at, form: Form::Yaml, ..Question::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let asked = object_of("ketcd://pod/web/crasher@1651").unwrap();
        assert_eq!((asked.words.join(" ").as_str(), asked.at.as_deref()), ("get -- pod/web/crasher", Some("1651")));
        assert_eq!(object_of("ketcd://clusterrole/system:node@x").unwrap().words[2], "clusterrole/system:node@x");
        for wrong in [
            "ketcd://pods",
            "ketcd:///registry/pods",
            "file:///etc/passwd",
            "ketcd://a/../b",
            "ketcd://a/-f/b",
            "ketcd://a/b/c/d",
            "",
            "ketcd://a/b c",
        ] {
            assert!(object_of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_listed_can_be_read() {
        let pages = [Page { name: "how", title: "How", text: "# How" }];
        for resource in list(&pages) {
            assert!(matches!(read(&resource.uri, &pages), Ok(Read::Text(..))), "{}", resource.uri);
        }
        assert!(matches!(read("ketcd://pod/a/b", &pages), Ok(Read::Object(_))));
        for unknown in ["ketcd://docs/nope", "ketcd://schema/nope"] {
            let Err(refusal) = read(unknown, &pages) else { panic!("{unknown}") };
            assert!(refusal.0.contains("resources/list"), "{}", refusal.0);
        }
    }
}
