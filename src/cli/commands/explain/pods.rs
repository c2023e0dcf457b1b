//! The pods that `ketcd explain` is asked about.

use crate::cli::session::Session;
use crate::cli::{Error, Result};
use ketcd_kube::{Address, Scope};

/// The pods addressed.
#[derive(Default)]
pub(super) struct Pods {
    /// Each with its namespace.
    named: Vec<(String, String)>,
    /// All of these namespaces; `None`: of every one.
    listed: Vec<Option<String>>,
}

impl Pods {
    /// Whether some are addressed by their kind alone.
    pub(super) fn are_listed(&self) -> bool {
        !self.listed.is_empty()
    }

    /// The pods addressed one by one, as namespace and name.
    pub(super) fn named(&self) -> impl Iterator<Item = (&str, &str)> {
        self.named.iter().map(|(namespace, name)| (namespace.as_str(), name.as_str()))
    }

    /// Whether a pod is among them; where none is addressed, every one is.
    pub(super) fn wants(&self, namespace: &str, name: &str) -> bool {
        let every = self.named.is_empty() && self.listed.is_empty();
        every
            || self.named().any(|pod| pod == (namespace, name))
            || self.listed.iter().any(|of| of.as_deref().is_none_or(|of| of == namespace))
    }

    /// Reads the addresses.
    ///
    /// # Errors
    /// One of them is no address, or not of pods.
    pub(super) async fn read(session: &Session, addresses: &[String]) -> Result<Self> {
        let kinds = session.kinds().await?;
        let scope = if session.args.all_namespaces { Scope::All } else { Scope::Namespace(session.namespace().to_owned()) };
        let mut found = Self::default();
        for text in addresses {
            for address in Address::parse(text, kinds, &scope).map_err(|error| Error::new(error.to_string()).hint(error.hint()))? {
                match address {
                    Address::Objects { kind, namespace, name: Some(name) } if kind.kind == "Pod" => {
                        found.named.push((namespace.unwrap_or_else(|| session.namespace().to_owned()), name))
                    }
                    Address::Objects { kind, namespace, name: None } if kind.kind == "Pod" => found.listed.push(namespace),
                    _ => {
                        return Err(Error::new(format!("{text:?} does not name pods"))
                            .hint("write pod/NAMESPACE/NAME, pods -n NAMESPACE, pods -A, or use --all"));
                    }
                }
            }
        }
        Ok(found)
    }
}
