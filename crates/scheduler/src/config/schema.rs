//! The fields of the configuration's structs, with the releases and versions of the API that have them.
//! Sources: `kube-scheduler/config/{v1beta1,v1beta2,v1beta3,v1}/types.go` and `types_pluginargs.go`, `component-base/config/v1alpha1/types.go`,
//! `api/core/v1/types.go`; 1.18: `kube-scheduler/config/{v1alpha1,v1alpha2}/types.go`.

use super::ConfigVersion::{self, V1, V1Alpha1, V1Alpha2, V1Beta1, V1Beta2};
use super::Context;
use crate::release::{Span, since};

/// The type of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// A string, or a named string type.
    Text(&'static str),
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

/// The package that errors name with a struct.
#[derive(Clone, Copy)]
enum Package {
    /// The configuration's own version.
    Own,
    /// Always this.
    Fixed(&'static str),
    /// `v1`, or the configuration's own version, by release.
    OfExtender,
}

/// A field.
pub(super) struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    releases: Span,
    versions: (ConfigVersion, ConfigVersion),
}

struct Struct {
    name: &'static str,
    package: Package,
    fields: &'static [Field],
}

const fn field(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, releases: since(0), versions: (V1Alpha1, V1) }
}

impl Field {
    const fn since(self, first: u16) -> Self {
        Self { releases: since(first), ..self }
    }

    const fn of(self, first: ConfigVersion, last: ConfigVersion) -> Self {
        Self { versions: (first, last), ..self }
    }
}

const TEXT: Kind = Kind::Text("string");
const SET: Kind = Kind::Struct("PluginSet");

#[rustfmt::skip]
const STRUCTS: &[Struct] = &[
    Struct { name: "KubeSchedulerConfiguration", package: Package::Own, fields: &[
        field("kind", TEXT), field("apiVersion", TEXT), field("parallelism", Kind::Int(32)).since(20), field("leaderElection", Kind::Struct("LeaderElectionConfiguration")),
        field("clientConnection", Kind::Struct("ClientConnectionConfiguration")), field("healthzBindAddress", TEXT).of(V1Alpha1, V1Beta2), field("metricsBindAddress", TEXT).of(V1Alpha1, V1Beta2),
        field("enableProfiling", Kind::Truth), field("enableContentionProfiling", Kind::Truth), field("percentageOfNodesToScore", Kind::Int(32)),
        field("podInitialBackoffSeconds", Kind::Int(64)), field("podMaxBackoffSeconds", Kind::Int(64)), field("profiles", Kind::List("KubeSchedulerProfile")).of(V1Alpha2, V1),
        field("extenders", Kind::List("Extender")).of(V1Alpha2, V1), field("delayCacheUntilActive", Kind::Truth).since(28).of(V1, V1),
        field("schedulerName", TEXT).of(V1Alpha1, V1Alpha1), field("algorithmSource", Kind::Raw).of(V1Alpha1, V1Alpha1), field("failureDomains", TEXT).of(V1Alpha1, V1Alpha1),
        field("hardPodAffinitySymmetricWeight", Kind::Int(32)).of(V1Alpha1, V1Alpha1), field("plugins", Kind::Struct("Plugins")).of(V1Alpha1, V1Alpha1),
        field("pluginConfig", Kind::List("PluginConfig")).of(V1Alpha1, V1Alpha1),
        field("disablePreemption", Kind::Truth).of(V1Alpha1, V1Alpha2), field("bindTimeoutSeconds", Kind::Int(64)).of(V1Alpha1, V1Alpha2),
    ] },
    Struct { name: "KubeSchedulerProfile", package: Package::Own, fields: &[
        field("schedulerName", TEXT), field("plugins", Kind::Struct("Plugins")), field("pluginConfig", Kind::List("PluginConfig")),
        field("percentageOfNodesToScore", Kind::Int(32)).since(26).of(V1, V1),
    ] },
    Struct { name: "Plugins", package: Package::Own, fields: &[
        field("queueSort", SET), field("preFilter", SET), field("filter", SET), field("postFilter", SET).of(V1Alpha1, V1Alpha1), field("postFilter", SET).of(V1Beta1, V1), field("preScore", SET).of(V1Alpha2, V1), field("score", SET), field("reserve", SET),
        field("permit", SET), field("preBind", SET), field("bind", SET), field("postBind", SET), field("unreserve", SET).of(V1Alpha1, V1Alpha2), field("multiPoint", SET).since(23),
        field("preEnqueue", SET).since(26), field("placementGenerate", SET).since(36), field("placementScore", SET).since(36),
        field("podGroupPostFilter", SET).since(37),
    ] },
    Struct { name: "PluginSet", package: Package::Own, fields: &[field("enabled", Kind::List("Plugin")), field("disabled", Kind::List("Plugin"))] },
    Struct { name: "Plugin", package: Package::Own, fields: &[field("name", TEXT), field("weight", Kind::Int(32))] },
    Struct { name: "PluginConfig", package: Package::Own, fields: &[field("name", TEXT), field("args", Kind::Raw)] },
    Struct { name: "Extender", package: Package::Own, fields: &[
        field("urlPrefix", TEXT), field("filterVerb", TEXT), field("preemptVerb", TEXT), field("prioritizeVerb", TEXT), field("weight", Kind::Int(64)), field("bindVerb", TEXT),
        field("enableHTTPS", Kind::Truth).of(V1Beta1, V1), field("enableHttps", Kind::Truth).of(V1Alpha1, V1Alpha2), field("tlsConfig", Kind::Struct("ExtenderTLSConfig")),
        field("httpTimeout", Kind::Duration).of(V1Beta1, V1), field("httpTimeout", Kind::Int(64)).of(V1Alpha1, V1Alpha2), field("nodeCacheCapable", Kind::Truth),
        field("managedResources", Kind::List("ExtenderManagedResource")), field("ignorable", Kind::Truth),
    ] },
    Struct { name: "ExtenderManagedResource", package: Package::OfExtender, fields: &[field("name", TEXT), field("ignoredByScheduler", Kind::Truth)] },
    Struct { name: "ExtenderTLSConfig", package: Package::OfExtender, fields: &[
        field("insecure", Kind::Truth), field("serverName", TEXT), field("certFile", TEXT), field("keyFile", TEXT), field("caFile", TEXT),
        field("certData", Kind::Bytes), field("keyData", Kind::Bytes), field("caData", Kind::Bytes),
    ] },
    Struct { name: "LeaderElectionConfiguration", package: Package::Fixed("v1alpha1"), fields: &[
        field("leaderElect", Kind::Truth), field("leaseDuration", Kind::Duration), field("renewDeadline", Kind::Duration), field("retryPeriod", Kind::Duration),
        field("resourceLock", TEXT), field("resourceName", TEXT), field("resourceNamespace", TEXT), field("lockObjectNamespace", TEXT).of(V1Alpha1, V1Alpha1),
        field("lockObjectName", TEXT).of(V1Alpha1, V1Alpha1),
    ] },
    Struct { name: "ClientConnectionConfiguration", package: Package::Fixed("v1alpha1"), fields: &[
        field("kubeconfig", TEXT), field("acceptContentTypes", TEXT), field("contentType", TEXT), field("qps", Kind::Float), field("burst", Kind::Int(32)),
    ] },
    Struct { name: "DefaultPreemptionArgs", package: Package::Own, fields: &[
        field("kind", TEXT).since(20), field("apiVersion", TEXT), field("minCandidateNodesPercentage", Kind::Int(32)), field("minCandidateNodesAbsolute", Kind::Int(32)),
    ] },
    Struct { name: "DynamicResourcesArgs", package: Package::Own, fields: &[
        field("kind", TEXT).since(34), field("apiVersion", TEXT), field("filterTimeout", Kind::Duration), field("bindingTimeout", Kind::Duration).since(35),
    ] },
    Struct { name: "InterPodAffinityArgs", package: Package::Own, fields: &[
        field("kind", TEXT), field("apiVersion", TEXT), field("hardPodAffinityWeight", Kind::Int(32)), field("ignorePreferredTermsOfExistingPods", Kind::Truth).since(27),
    ] },
    Struct { name: "NodeAffinityArgs", package: Package::Own, fields: &[field("kind", TEXT).since(20), field("apiVersion", TEXT), field("addedAffinity", Kind::Struct("NodeAffinity"))] },
    Struct { name: "NodeLabelArgs", package: Package::Own, fields: &[
        field("kind", TEXT).of(V1Alpha1, V1Beta1), field("apiVersion", TEXT), field("presentLabels", Kind::TextList), field("absentLabels", Kind::TextList),
        field("presentLabelsPreference", Kind::TextList), field("absentLabelsPreference", Kind::TextList),
    ] },
    Struct { name: "NodeResourcesBalancedAllocationArgs", package: Package::Own, fields: &[field("kind", TEXT).since(22), field("apiVersion", TEXT), field("resources", Kind::List("ResourceSpec"))] },
    Struct { name: "NodeResourcesFitArgs", package: Package::Own, fields: &[
        field("kind", TEXT), field("apiVersion", TEXT), field("ignoredResources", Kind::TextList), field("ignoredResourceGroups", Kind::TextList),
        field("scoringStrategy", Kind::Struct("ScoringStrategy")).since(22),
    ] },
    Struct { name: "NodeResourcesLeastAllocatedArgs", package: Package::Own, fields: &[field("kind", TEXT).of(V1Alpha1, V1Beta1), field("apiVersion", TEXT), field("resources", Kind::List("ResourceSpec"))] },
    Struct { name: "NodeResourcesMostAllocatedArgs", package: Package::Own, fields: &[field("kind", TEXT).of(V1Alpha1, V1Beta1), field("apiVersion", TEXT), field("resources", Kind::List("ResourceSpec"))] },
    Struct { name: "PodTopologySpreadArgs", package: Package::Own, fields: &[
        field("kind", TEXT), field("apiVersion", TEXT), field("defaultConstraints", Kind::List("TopologySpreadConstraint")),
        field("defaultingType", Kind::Text("PodTopologySpreadConstraintsDefaulting")).since(20),
    ] },
    Struct { name: "RequestedToCapacityRatioArgs", package: Package::Own, fields: &[
        field("kind", TEXT).of(V1Alpha1, V1Beta1), field("apiVersion", TEXT), field("shape", Kind::List("UtilizationShapePoint")), field("resources", Kind::List("ResourceSpec")),
    ] },
    Struct { name: "ServiceAffinityArgs", package: Package::Own, fields: &[
        field("kind", TEXT).of(V1Alpha1, V1Beta1), field("apiVersion", TEXT), field("affinityLabels", Kind::TextList), field("antiAffinityLabelsPreference", Kind::TextList),
    ] },
    Struct { name: "VolumeBindingArgs", package: Package::Own, fields: &[
        field("kind", TEXT), field("apiVersion", TEXT), field("bindTimeoutSeconds", Kind::Int(64)), field("shape", Kind::List("UtilizationShapePoint")).since(22),
    ] },
    Struct { name: "ScoringStrategy", package: Package::Own, fields: &[
        field("type", Kind::Text("ScoringStrategyType")), field("resources", Kind::List("ResourceSpec")), field("requestedToCapacityRatio", Kind::Struct("RequestedToCapacityRatioParam")),
    ] },
    Struct { name: "RequestedToCapacityRatioParam", package: Package::Own, fields: &[field("shape", Kind::List("UtilizationShapePoint"))] },
    Struct { name: "ResourceSpec", package: Package::Own, fields: &[field("name", TEXT), field("weight", Kind::Int(64))] },
    Struct { name: "UtilizationShapePoint", package: Package::Own, fields: &[field("utilization", Kind::Int(32)), field("score", Kind::Int(32))] },
    Struct { name: "NodeAffinity", package: Package::Fixed("v1"), fields: &[
        field("requiredDuringSchedulingIgnoredDuringExecution", Kind::Struct("NodeSelector")),
        field("preferredDuringSchedulingIgnoredDuringExecution", Kind::List("PreferredSchedulingTerm")),
    ] },
    Struct { name: "NodeSelector", package: Package::Fixed("v1"), fields: &[field("nodeSelectorTerms", Kind::List("NodeSelectorTerm"))] },
    Struct { name: "NodeSelectorTerm", package: Package::Fixed("v1"), fields: &[
        field("matchExpressions", Kind::List("NodeSelectorRequirement")), field("matchFields", Kind::List("NodeSelectorRequirement")),
    ] },
    Struct { name: "NodeSelectorRequirement", package: Package::Fixed("v1"), fields: &[
        field("key", TEXT), field("operator", Kind::Text("NodeSelectorOperator")), field("values", Kind::TextList),
    ] },
    Struct { name: "PreferredSchedulingTerm", package: Package::Fixed("v1"), fields: &[field("weight", Kind::Int(32)), field("preference", Kind::Struct("NodeSelectorTerm"))] },
    Struct { name: "TopologySpreadConstraint", package: Package::Fixed("v1"), fields: &[
        field("maxSkew", Kind::Int(32)), field("topologyKey", TEXT), field("whenUnsatisfiable", Kind::Text("UnsatisfiableConstraintAction")),
        field("labelSelector", Kind::Struct("LabelSelector")), field("minDomains", Kind::Int(32)).since(24), field("nodeAffinityPolicy", Kind::Text("NodeInclusionPolicy")).since(25),
        field("nodeTaintsPolicy", Kind::Text("NodeInclusionPolicy")).since(25), field("matchLabelKeys", Kind::TextList).since(25),
    ] },
    Struct { name: "LabelSelector", package: Package::Fixed("v1"), fields: &[field("matchLabels", Kind::Texts), field("matchExpressions", Kind::List("LabelSelectorRequirement"))] },
    Struct { name: "LabelSelectorRequirement", package: Package::Fixed("v1"), fields: &[
        field("key", TEXT), field("operator", Kind::Text("LabelSelectorOperator")), field("values", Kind::TextList),
    ] },
];

/// Returns a struct's field, where the release and the version of the API have it.
pub(super) fn field_of(name: &str, field: &str, context: &Context<'_>) -> Option<&'static Field> {
    STRUCTS.iter().find(|known| known.name == name)?.fields.iter().find(|known| known.name == field && exists(known, context))
}

/// Whether arguments of that kind are registered, by the releases of its field `kind`.
pub(super) fn is_args(kind: &str, context: &Context<'_>) -> bool {
    context.version >= V1Beta1 && kind.ends_with("Args") && field_of(kind, "kind", context).is_some()
}

/// Whether a struct is part of an extender.
pub(super) fn is_of_extender(of: &str) -> bool {
    matches!(of, "Extender" | "ExtenderManagedResource" | "ExtenderTLSConfig")
}

fn exists(field: &Field, context: &Context<'_>) -> bool {
    field.releases.contains(context.release) && (field.versions.0..=field.versions.1).contains(&context.version)
}

/// Go's name of a field's type.
pub(super) fn go_type(kind: Kind, context: &Context<'_>) -> String {
    match kind {
        Kind::Text("string") | Kind::Duration => "string".to_owned(),
        Kind::Text(name @ ("ScoringStrategyType" | "PodTopologySpreadConstraintsDefaulting")) => {
            format!("{}.{name}", context.version.name())
        }
        Kind::Text(name) => format!("v1.{name}"),
        Kind::Int(bits) => format!("int{bits}"),
        Kind::Float => "float32".to_owned(),
        Kind::Truth => "bool".to_owned(),
        Kind::Bytes => "[]uint8".to_owned(),
        Kind::Raw => "runtime.RawExtension".to_owned(),
        Kind::Texts => "map[string]string".to_owned(),
        Kind::TextList => "[]string".to_owned(),
        Kind::Struct(name) => format!("{}.{name}", package(name, context)),
        Kind::List(name) => format!("[]{}.{name}", package(name, context)),
    }
}

fn package(name: &str, context: &Context<'_>) -> &'static str {
    match STRUCTS.iter().find(|known| known.name == name).map(|known| known.package) {
        Some(Package::Fixed(package)) => package,
        Some(Package::OfExtender) if context.rules().extender_structs_are_v1() => "v1",
        _ => context.version.name(),
    }
}
