//! The fields of the configuration's structs, with the releases and versions of the API that have them.
//! Sources: `kube-scheduler/config/{v1beta1,v1beta2,v1beta3,v1}/types.go` and `types_pluginargs.go`, `component-base/config/v1alpha1/types.go`,
//! `api/core/v1/types.go`; 1.18: `kube-scheduler/config/{v1alpha1,v1alpha2}/types.go`.

use super::context::Context;
use super::versions::ConfigVersion::{self, V1, V1Alpha1, V1Alpha2, V1Beta1, V1Beta2};
use crate::release::{Span, since};

/// The type of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum FieldType {
    /// A string.
    Text,
    /// An integer of this many bits.
    Int(u32),
    /// A floating-point number.
    Float,
    /// A boolean.
    Truth,
    /// A duration such as `15s`.
    Duration,
    /// Bytes in base64.
    Bytes,
    /// Anything: it is decoded elsewhere.
    Raw,
    /// A map of strings.
    Texts,
    /// A struct of the table.
    Struct(&'static str),
    /// A list of strings.
    TextList,
    /// A list of structs.
    List(&'static str),
}

/// A field.
pub(super) struct FieldSchema {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: FieldType,
    releases: Span,
    versions: (ConfigVersion, ConfigVersion),
}

struct Struct {
    name: &'static str,
    fields: &'static [FieldSchema],
}

const fn field(name: &'static str, kind: FieldType) -> FieldSchema {
    FieldSchema { name, kind, releases: since(0), versions: (V1Alpha1, V1) }
}

impl FieldSchema {
    const fn since(self, first: u16) -> Self {
        Self { releases: since(first), ..self }
    }

    const fn of(self, first: ConfigVersion, last: ConfigVersion) -> Self {
        Self { versions: (first, last), ..self }
    }
}

const TEXT_FIELD: FieldType = FieldType::Text;
const PLUGIN_SET_FIELD: FieldType = FieldType::Struct("PluginSet");

#[rustfmt::skip]
const CONFIG_STRUCTS: &[Struct] = &[
    Struct { name: "KubeSchedulerConfiguration", fields: &[
        field("kind", TEXT_FIELD), field("apiVersion", TEXT_FIELD), field("parallelism", FieldType::Int(32)).since(20), field("leaderElection", FieldType::Struct("LeaderElectionConfiguration")),
        field("clientConnection", FieldType::Struct("ClientConnectionConfiguration")), field("healthzBindAddress", TEXT_FIELD).of(V1Alpha1, V1Beta2), field("metricsBindAddress", TEXT_FIELD).of(V1Alpha1, V1Beta2),
        field("enableProfiling", FieldType::Truth), field("enableContentionProfiling", FieldType::Truth), field("percentageOfNodesToScore", FieldType::Int(32)),
        field("podInitialBackoffSeconds", FieldType::Int(64)), field("podMaxBackoffSeconds", FieldType::Int(64)), field("profiles", FieldType::List("KubeSchedulerProfile")).of(V1Alpha2, V1),
        field("extenders", FieldType::List("Extender")).of(V1Alpha2, V1), field("delayCacheUntilActive", FieldType::Truth).since(28).of(V1, V1),
        field("schedulerName", TEXT_FIELD).of(V1Alpha1, V1Alpha1), field("algorithmSource", FieldType::Raw).of(V1Alpha1, V1Alpha1), field("failureDomains", TEXT_FIELD).of(V1Alpha1, V1Alpha1),
        field("hardPodAffinitySymmetricWeight", FieldType::Int(32)).of(V1Alpha1, V1Alpha1), field("plugins", FieldType::Struct("Plugins")).of(V1Alpha1, V1Alpha1),
        field("pluginConfig", FieldType::List("PluginConfig")).of(V1Alpha1, V1Alpha1),
        field("disablePreemption", FieldType::Truth).of(V1Alpha1, V1Alpha2), field("bindTimeoutSeconds", FieldType::Int(64)).of(V1Alpha1, V1Alpha2),
    ] },
    Struct { name: "KubeSchedulerProfile", fields: &[
        field("schedulerName", TEXT_FIELD), field("plugins", FieldType::Struct("Plugins")), field("pluginConfig", FieldType::List("PluginConfig")),
        field("percentageOfNodesToScore", FieldType::Int(32)).since(26).of(V1, V1),
    ] },
    Struct { name: "Plugins", fields: &[
        field("queueSort", PLUGIN_SET_FIELD), field("preFilter", PLUGIN_SET_FIELD), field("filter", PLUGIN_SET_FIELD), field("postFilter", PLUGIN_SET_FIELD).of(V1Alpha1, V1Alpha1), field("postFilter", PLUGIN_SET_FIELD).of(V1Beta1, V1), field("preScore", PLUGIN_SET_FIELD).of(V1Alpha2, V1), field("score", PLUGIN_SET_FIELD), field("reserve", PLUGIN_SET_FIELD),
        field("permit", PLUGIN_SET_FIELD), field("preBind", PLUGIN_SET_FIELD), field("bind", PLUGIN_SET_FIELD), field("postBind", PLUGIN_SET_FIELD), field("unreserve", PLUGIN_SET_FIELD).of(V1Alpha1, V1Alpha2), field("multiPoint", PLUGIN_SET_FIELD).since(23),
        field("preEnqueue", PLUGIN_SET_FIELD).since(26), field("placementGenerate", PLUGIN_SET_FIELD).since(36), field("placementScore", PLUGIN_SET_FIELD).since(36),
        field("podGroupPostFilter", PLUGIN_SET_FIELD).since(37),
    ] },
    Struct { name: "PluginSet", fields: &[field("enabled", FieldType::List("Plugin")), field("disabled", FieldType::List("Plugin"))] },
    Struct { name: "Plugin", fields: &[field("name", TEXT_FIELD), field("weight", FieldType::Int(32))] },
    Struct { name: "PluginConfig", fields: &[field("name", TEXT_FIELD), field("args", FieldType::Raw)] },
    Struct { name: "Extender", fields: &[
        field("urlPrefix", TEXT_FIELD), field("filterVerb", TEXT_FIELD), field("preemptVerb", TEXT_FIELD), field("prioritizeVerb", TEXT_FIELD), field("weight", FieldType::Int(64)), field("bindVerb", TEXT_FIELD),
        field("enableHTTPS", FieldType::Truth).of(V1Beta1, V1), field("enableHttps", FieldType::Truth).of(V1Alpha1, V1Alpha2), field("tlsConfig", FieldType::Struct("ExtenderTLSConfig")),
        field("httpTimeout", FieldType::Duration).of(V1Beta1, V1), field("httpTimeout", FieldType::Int(64)).of(V1Alpha1, V1Alpha2), field("nodeCacheCapable", FieldType::Truth),
        field("managedResources", FieldType::List("ExtenderManagedResource")), field("ignorable", FieldType::Truth),
    ] },
    Struct { name: "ExtenderManagedResource", fields: &[field("name", TEXT_FIELD), field("ignoredByScheduler", FieldType::Truth)] },
    Struct { name: "ExtenderTLSConfig", fields: &[
        field("insecure", FieldType::Truth), field("serverName", TEXT_FIELD), field("certFile", TEXT_FIELD), field("keyFile", TEXT_FIELD), field("caFile", TEXT_FIELD),
        field("certData", FieldType::Bytes), field("keyData", FieldType::Bytes), field("caData", FieldType::Bytes),
    ] },
    Struct { name: "LeaderElectionConfiguration", fields: &[
        field("leaderElect", FieldType::Truth), field("leaseDuration", FieldType::Duration), field("renewDeadline", FieldType::Duration), field("retryPeriod", FieldType::Duration),
        field("resourceLock", TEXT_FIELD), field("resourceName", TEXT_FIELD), field("resourceNamespace", TEXT_FIELD), field("lockObjectNamespace", TEXT_FIELD).of(V1Alpha1, V1Alpha1),
        field("lockObjectName", TEXT_FIELD).of(V1Alpha1, V1Alpha1),
    ] },
    Struct { name: "ClientConnectionConfiguration", fields: &[
        field("kubeconfig", TEXT_FIELD), field("acceptContentTypes", TEXT_FIELD), field("contentType", TEXT_FIELD), field("qps", FieldType::Float), field("burst", FieldType::Int(32)),
    ] },
    Struct { name: "DefaultPreemptionArgs", fields: &[
        field("kind", TEXT_FIELD).since(20), field("apiVersion", TEXT_FIELD), field("minCandidateNodesPercentage", FieldType::Int(32)), field("minCandidateNodesAbsolute", FieldType::Int(32)),
    ] },
    Struct { name: "DynamicResourcesArgs", fields: &[
        field("kind", TEXT_FIELD).since(34), field("apiVersion", TEXT_FIELD), field("filterTimeout", FieldType::Duration), field("bindingTimeout", FieldType::Duration).since(35),
    ] },
    Struct { name: "InterPodAffinityArgs", fields: &[
        field("kind", TEXT_FIELD), field("apiVersion", TEXT_FIELD), field("hardPodAffinityWeight", FieldType::Int(32)), field("ignorePreferredTermsOfExistingPods", FieldType::Truth).since(27),
    ] },
    Struct { name: "NodeAffinityArgs", fields: &[field("kind", TEXT_FIELD).since(20), field("apiVersion", TEXT_FIELD), field("addedAffinity", FieldType::Struct("NodeAffinity"))] },
    Struct { name: "NodeLabelArgs", fields: &[
        field("kind", TEXT_FIELD).of(V1Alpha1, V1Beta1), field("apiVersion", TEXT_FIELD), field("presentLabels", FieldType::TextList), field("absentLabels", FieldType::TextList),
        field("presentLabelsPreference", FieldType::TextList), field("absentLabelsPreference", FieldType::TextList),
    ] },
    Struct { name: "NodeResourcesBalancedAllocationArgs", fields: &[field("kind", TEXT_FIELD).since(22), field("apiVersion", TEXT_FIELD), field("resources", FieldType::List("ResourceSpec"))] },
    Struct { name: "NodeResourcesFitArgs", fields: &[
        field("kind", TEXT_FIELD), field("apiVersion", TEXT_FIELD), field("ignoredResources", FieldType::TextList), field("ignoredResourceGroups", FieldType::TextList),
        field("scoringStrategy", FieldType::Struct("ScoringStrategy")).since(22),
    ] },
    Struct { name: "NodeResourcesLeastAllocatedArgs", fields: &[field("kind", TEXT_FIELD).of(V1Alpha1, V1Beta1), field("apiVersion", TEXT_FIELD), field("resources", FieldType::List("ResourceSpec"))] },
    Struct { name: "NodeResourcesMostAllocatedArgs", fields: &[field("kind", TEXT_FIELD).of(V1Alpha1, V1Beta1), field("apiVersion", TEXT_FIELD), field("resources", FieldType::List("ResourceSpec"))] },
    Struct { name: "PodTopologySpreadArgs", fields: &[
        field("kind", TEXT_FIELD), field("apiVersion", TEXT_FIELD), field("defaultConstraints", FieldType::List("TopologySpreadConstraint")),
        field("defaultingType", FieldType::Text).since(20),
    ] },
    Struct { name: "RequestedToCapacityRatioArgs", fields: &[
        field("kind", TEXT_FIELD).of(V1Alpha1, V1Beta1), field("apiVersion", TEXT_FIELD), field("shape", FieldType::List("UtilizationShapePoint")), field("resources", FieldType::List("ResourceSpec")),
    ] },
    Struct { name: "ServiceAffinityArgs", fields: &[
        field("kind", TEXT_FIELD).of(V1Alpha1, V1Beta1), field("apiVersion", TEXT_FIELD), field("affinityLabels", FieldType::TextList), field("antiAffinityLabelsPreference", FieldType::TextList),
    ] },
    Struct { name: "VolumeBindingArgs", fields: &[
        field("kind", TEXT_FIELD), field("apiVersion", TEXT_FIELD), field("bindTimeoutSeconds", FieldType::Int(64)), field("shape", FieldType::List("UtilizationShapePoint")).since(22),
    ] },
    Struct { name: "ScoringStrategy", fields: &[
        field("type", FieldType::Text), field("resources", FieldType::List("ResourceSpec")), field("requestedToCapacityRatio", FieldType::Struct("RequestedToCapacityRatioParam")),
    ] },
    Struct { name: "RequestedToCapacityRatioParam", fields: &[field("shape", FieldType::List("UtilizationShapePoint"))] },
    Struct { name: "ResourceSpec", fields: &[field("name", TEXT_FIELD), field("weight", FieldType::Int(64))] },
    Struct { name: "UtilizationShapePoint", fields: &[field("utilization", FieldType::Int(32)), field("score", FieldType::Int(32))] },
    Struct { name: "NodeAffinity", fields: &[
        field("requiredDuringSchedulingIgnoredDuringExecution", FieldType::Struct("NodeSelector")),
        field("preferredDuringSchedulingIgnoredDuringExecution", FieldType::List("PreferredSchedulingTerm")),
    ] },
    Struct { name: "NodeSelector", fields: &[field("nodeSelectorTerms", FieldType::List("NodeSelectorTerm"))] },
    Struct { name: "NodeSelectorTerm", fields: &[
        field("matchExpressions", FieldType::List("NodeSelectorRequirement")), field("matchFields", FieldType::List("NodeSelectorRequirement")),
    ] },
    Struct { name: "NodeSelectorRequirement", fields: &[
        field("key", TEXT_FIELD), field("operator", FieldType::Text), field("values", FieldType::TextList),
    ] },
    Struct { name: "PreferredSchedulingTerm", fields: &[field("weight", FieldType::Int(32)), field("preference", FieldType::Struct("NodeSelectorTerm"))] },
    Struct { name: "TopologySpreadConstraint", fields: &[
        field("maxSkew", FieldType::Int(32)), field("topologyKey", TEXT_FIELD), field("whenUnsatisfiable", FieldType::Text),
        field("labelSelector", FieldType::Struct("LabelSelector")), field("minDomains", FieldType::Int(32)).since(24), field("nodeAffinityPolicy", FieldType::Text).since(25),
        field("nodeTaintsPolicy", FieldType::Text).since(25), field("matchLabelKeys", FieldType::TextList).since(25),
    ] },
    Struct { name: "LabelSelector", fields: &[field("matchLabels", FieldType::Texts), field("matchExpressions", FieldType::List("LabelSelectorRequirement"))] },
    Struct { name: "LabelSelectorRequirement", fields: &[
        field("key", TEXT_FIELD), field("operator", FieldType::Text), field("values", FieldType::TextList),
    ] },
];

/// Returns a struct's field, where the release and the version of the API have it.
pub(super) fn field_of(name: &str, field: &str, context: &Context<'_>) -> Option<&'static FieldSchema> {
    CONFIG_STRUCTS.iter().find(|known| known.name == name)?.fields.iter().find(|known| known.name == field && exists(known, context))
}

/// Whether arguments of that kind are registered, by the releases of its field `kind`.
pub(super) fn is_args(kind: &str, context: &Context<'_>) -> bool {
    context.version >= V1Beta1 && kind.ends_with("Args") && field_of(kind, "kind", context).is_some()
}

/// Whether a struct is part of an extender.
pub(super) fn is_of_extender(of: &str) -> bool {
    matches!(of, "Extender" | "ExtenderManagedResource" | "ExtenderTLSConfig")
}

fn exists(field: &FieldSchema, context: &Context<'_>) -> bool {
    field.releases.contains(context.release) && (field.versions.0..=field.versions.1).contains(&context.version)
}

impl FieldType {
    /// What a field of this type holds, for a refusal.
    pub(super) fn expected(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Int(_) => "a whole number",
            Self::Float => "a number",
            Self::Truth => "true or false",
            Self::Duration => "a duration such as 15s",
            Self::Bytes => "base64",
            Self::Raw => "anything",
            Self::Texts | Self::Struct(_) => "fields",
            Self::TextList | Self::List(_) => "a list",
        }
    }
}
