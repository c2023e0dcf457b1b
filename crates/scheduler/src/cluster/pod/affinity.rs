//! Terms of pod affinity and anti-affinity, compiled.

use std::sync::Arc;

use ketcd_kube::is_label_value;

use crate::api::core;
use crate::api::meta::LabelSelector;
use crate::cluster::{Interner, Labels, Selector, label_selector};

/// A term: the pods it selects, and the topology in which it counts them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AffinityTerm {
    /// The node label whose values are the topology's domains.
    pub(crate) topology_key: Arc<str>,
    /// The pods it selects; `None` matches nothing.
    pub(crate) selector: Option<Selector>,
    /// How many of the selector's first requirements come from matchLabels.
    pub(crate) match_labels: usize,
    /// The same for the namespace selector.
    pub(crate) match_namespace_labels: usize,
    pub(crate) namespaces: Vec<Arc<str>>,
    /// Selects namespaces by their labels; `None` where the field is absent (an empty selector means all).
    pub(crate) namespace_selector: Option<Selector>,
    pub(crate) owner_namespace: Arc<str>,
}

/// How a release treats `namespaceSelector` (`framework/types.go` AffinityTerm).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum NamespaceSelectors {
    /// The field is not known (up to 1.20): a term without a list selects its pod's namespace.
    Unknown,
    /// The field is known but its gate is off (1.21): a term with a selector and no list selects no namespace.
    Ignored,
    /// The field is honored.
    Honored,
}

impl AffinityTerm {
    /// Compiles a term of a pod in `owner_namespace`.
    pub(crate) fn compile(term: &core::PodAffinityTerm, owner_namespace: &Arc<str>, interner: &mut Interner) -> Self {
        Self {
            topology_key: interner.string(&term.topology_key),
            selector: term.label_selector.as_ref().and_then(|selector| label_selector(selector, interner)),
            match_labels: equalities(term.label_selector.as_ref()),
            match_namespace_labels: equalities(term.namespace_selector.as_ref()),
            namespaces: term.namespaces.iter().flatten().map(|namespace| interner.string(namespace)).collect(),
            namespace_selector: term.namespace_selector.as_ref().and_then(|selector| label_selector(selector, interner)),
            owner_namespace: owner_namespace.clone(),
        }
    }

    /// Whether the term selects pods of `namespace`, whose labels are `labels` (`None`: the Namespace is not known).
    pub(crate) fn matches_namespace(&self, namespace: &str, labels: Option<&Labels>, selectors: NamespaceSelectors) -> bool {
        let known = self.namespace_selector.as_ref().filter(|_| selectors != NamespaceSelectors::Unknown);
        if self.namespaces.is_empty() && known.is_none() {
            return namespace == &*self.owner_namespace;
        }
        let selector = known.filter(|_| selectors == NamespaceSelectors::Honored);
        self.namespaces.iter().any(|listed| &**listed == namespace)
            || selector.is_some_and(|selector| selector.is_empty() || labels.is_some_and(|labels| selector.matches(labels)))
    }

    /// Whether all values of its selectors are valid label values: upstream does not parse others.
    pub(crate) fn parses(&self) -> bool {
        let selectors = self.selector.iter().chain(&self.namespace_selector);
        selectors.flat_map(|selector| &selector.requirements).flat_map(|requirement| &requirement.values).all(|value| is_label_value(value))
    }

    pub(crate) fn matches_labels(&self, labels: &Labels) -> bool {
        self.selector.as_ref().is_some_and(|selector| selector.matches(labels))
    }
}

fn equalities(selector: Option<&LabelSelector>) -> usize {
    selector.map_or(0, |selector| selector.match_labels.iter().flatten().count())
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct PodAffinityTerms {
    /// Whether the object is present at all, even empty.
    pub(crate) present: bool,
    pub(crate) required: Vec<Arc<AffinityTerm>>,
    /// Terms that count for scores, with their weights.
    pub(crate) preferred: Vec<(i32, Arc<AffinityTerm>)>,
    /// Whether a required term does not parse.
    unparsed_required: bool,
    /// Whether a preferred term does not parse.
    unparsed_preferred: bool,
}

impl PodAffinityTerms {
    pub(crate) fn compile(
        required: Option<&Vec<core::PodAffinityTerm>>,
        preferred: Option<&Vec<core::WeightedPodAffinityTerm>>,
        namespace: &Arc<str>,
        interner: &mut Interner,
    ) -> Self {
        let required: Vec<Arc<AffinityTerm>> =
            required.into_iter().flatten().map(|term| Arc::new(AffinityTerm::compile(term, namespace, interner))).collect();
        let preferred: Vec<(i32, Arc<AffinityTerm>)> = preferred
            .into_iter()
            .flatten()
            .map(|term| (term.weight, Arc::new(AffinityTerm::compile(&term.pod_affinity_term, namespace, interner))))
            .collect();
        let unparsed_required = required.iter().any(|term| !term.parses());
        let unparsed_preferred = preferred.iter().any(|(_, term)| !term.parses());
        Self { present: true, required, preferred, unparsed_required, unparsed_preferred }
    }

    /// The required terms that count once the pod runs: none if one of them does not parse (`framework/types.go` getAffinityTerms, 1.19–).
    pub(crate) fn required_of_running(&self) -> &[Arc<AffinityTerm>] {
        if self.unparsed_required { &[] } else { &self.required }
    }

    /// The same for preferred terms.
    pub(crate) fn preferred_of_running(&self) -> &[(i32, Arc<AffinityTerm>)] {
        if self.unparsed_preferred { &[] } else { &self.preferred }
    }
}
