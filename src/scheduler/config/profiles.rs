//! The file as a whole: its profiles, extenders and the rest, checked as upstream checks them (`apis/config/validation/validation.go`).

use std::collections::BTreeSet;

use crate::scheduler::{FilterEntry, Gates, Profile, Release, ScoreEntry, judged_as, plugins};

use super::arguments::{self, Context};
use super::defaults::{self, Plugins};
use super::document::Document;
use super::election;
use super::expand::{expand, foreign};
use super::plugin_set::{Enabled, PluginSet, Point};
use super::{ConfigVersion, SchedulerConfiguration};

/// Plugins that a version of the API took out: the version, the releases that say so, the plugins.
const REMOVED: &[(ConfigVersion, u16, u16, &[&str])] = &[
    (
        ConfigVersion::V1Beta2,
        22,
        28,
        &[
            "NodeLabel",
            "ServiceAffinity",
            "NodePreferAvoidPods",
            "NodeResourcesLeastAllocated",
            "NodeResourcesMostAllocated",
            "RequestedToCapacityRatio",
        ],
    ),
    (ConfigVersion::V1, 25, 28, &["SelectorSpread"]),
    (ConfigVersion::V1, 31, u16::MAX, &["AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"]),
];

/// Filters that do without their PreFilter (`getPreFilterState` in `nodeaffinity/node_affinity.go`, `volumezone/volume_zone.go`; those of
/// `nodevolumelimits` keep no state).
const FALL_BACK: &[&str] =
    &["NodeAffinity", "VolumeZone", "NodeVolumeLimits", "EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"];

/// Fields that say nothing about which node a pod gets.
const OTHER_FIELDS: [&str; 13] = [
    "leaderElection",
    "clientConnection",
    "healthzBindAddress",
    "metricsBindAddress",
    "enableProfiling",
    "enableContentionProfiling",
    "bindTimeoutSeconds",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "parallelism",
    "delayCacheUntilActive",
    "debuggingConfiguration",
    "failureDomains",
];

/// Reads a whole configuration.
pub fn read(
    document: &Document<'_>,
    version: ConfigVersion,
    release: Release,
    gates: &Gates,
) -> Result<SchedulerConfiguration, Vec<String>> {
    let context = Context { version, release, gates };
    let mut wrong = Vec::new();
    document.know(&OTHER_FIELDS);
    wrong.extend(election::check(document, release));
    general(document, &mut wrong);
    let mut caveats = extenders(document, &mut wrong);
    let percentage = percentage(&document.field("percentageOfNodesToScore"), &mut wrong);
    let mut profiles = Vec::new();
    if version == ConfigVersion::V1Alpha1 {
        profiles.push(alpha(document, &context, &mut wrong));
    } else {
        let listed = document.field("profiles").elements();
        let alone = listed.len() == 1;
        let mut names = BTreeSet::new();
        for entry in &listed {
            let profile = profile(entry, &context, alone, &mut wrong);
            if !names.insert(profile.scheduler_name.clone()) {
                wrong.push(entry.field("schedulerName").duplicate(&profile.scheduler_name));
            }
            profiles.push(profile);
        }
        if listed.is_empty() {
            profiles.push(assemble(&context, &Plugins::new(), &mut wrong));
        }
    }
    for profile in &mut profiles {
        profile.percentage_of_nodes_to_score = profile.percentage_of_nodes_to_score.or(percentage);
        profile.scoring |= !caveats.is_empty();
        profile.unverifiable.append(&mut caveats.clone());
    }
    caveats.clear();
    // Before v1beta1 unknown fields were passed over.
    let unknown = document.unknown_fields();
    let notes = if version >= ConfigVersion::V1Beta1 {
        wrong.extend(unknown);
        Vec::new()
    } else {
        unknown
    };
    if wrong.is_empty() { Ok(SchedulerConfiguration { profiles, notes }) } else { Err(wrong) }
}

fn general(document: &Document<'_>, wrong: &mut Vec<String>) {
    let parallelism = document.field("parallelism");
    if let Some(value) = parallelism.whole().filter(|value| *value <= 0) {
        wrong.push(parallelism.invalid(value, "should be an integer value greater than zero"));
    }
    let (initial, most) = (document.field("podInitialBackoffSeconds"), document.field("podMaxBackoffSeconds"));
    if let Some(value) = initial.whole().filter(|value| *value <= 0) {
        wrong.push(initial.invalid(value, "must be greater than 0"));
    }
    let (first, last) = (initial.whole().unwrap_or(1), most.whole().unwrap_or(10));
    if last < first {
        wrong.push(most.invalid(last, "must be greater than or equal to PodInitialBackoffSeconds"));
    }
}

fn percentage(document: &Document<'_>, wrong: &mut Vec<String>) -> Option<i64> {
    let value = document.whole()?;
    if !(0..=100).contains(&value) {
        wrong.push(document.invalid(value, "not in valid range [0-100]"));
    }
    Some(value).filter(|value| *value != 0)
}

/// Extenders are named, as what they answer is not in etcd.
fn extenders(document: &Document<'_>, wrong: &mut Vec<String>) -> Vec<String> {
    let list = document.field("extenders");
    let mut named = Vec::new();
    let mut binders = 0;
    let mut managed = BTreeSet::new();
    for extender in list.elements() {
        extender.know(&["enableHTTPS", "tlsConfig", "httpTimeout", "nodeCacheCapable", "ignorable", "preemptVerb"]);
        let (weight, prioritizes) = (extender.field("weight"), !extender.field("prioritizeVerb").text().is_empty());
        if prioritizes && weight.whole().unwrap_or(0) <= 0 {
            wrong.push(weight.invalid(weight.whole().unwrap_or(0), "must have a positive weight applied to it"));
        }
        binders += usize::from(!extender.field("bindVerb").text().is_empty());
        for resource in extender.field("managedResources").elements() {
            resource.know(&["ignoredByScheduler"]);
            let name = resource.field("name");
            if !crate::cluster::is_extended(name.text()) {
                wrong.push(name.invalid(format!("{:?}", name.text()), "is an invalid extended resource name"));
            }
            if !managed.insert(name.text()) {
                wrong.push(name.invalid(format!("{:?}", name.text()), "duplicate extender managed resource name"));
            }
        }
        let filters = !extender.field("filterVerb").text().is_empty();
        let does = match (filters, prioritizes) {
            (true, true) => "refuse nodes and add points",
            (true, false) => "refuse nodes",
            (false, true) => "add points",
            (false, false) => "take part in binding or preemption",
        };
        named.push(format!("The extender {} may {does}; what it answered is not in etcd.", extender.field("urlPrefix").text()));
    }
    if binders > 1 {
        wrong.push(list.invalid(format!("\"found {binders} extenders implementing bind\""), "only one extender can implement bind"));
    }
    named
}

/// One of the profiles, since v1alpha2.
fn profile(entry: &Document<'_>, context: &Context<'_>, alone: bool, wrong: &mut Vec<String>) -> Profile {
    let name = entry.field("schedulerName");
    if name.text().is_empty() && !alone {
        wrong.push(name.required(""));
    }
    let plugins = plugin_sets(&entry.field("plugins"), context, wrong);
    let mut profile = assemble(context, &plugins, wrong);
    if !name.text().is_empty() {
        name.text().clone_into(&mut profile.scheduler_name);
    }
    if context.release.0 >= 26 {
        profile.percentage_of_nodes_to_score = percentage(&entry.field("percentageOfNodesToScore"), wrong);
    }
    plugin_config(&entry.field("pluginConfig"), context, &mut profile, wrong);
    profile
}

fn plugin_sets(document: &Document<'_>, context: &Context<'_>, wrong: &mut Vec<String>) -> Plugins {
    let mut sets = Plugins::new();
    let points = Point::ALL.into_iter().filter(|(point, _)| *point != Point::MultiPoint || context.version.has_multi_point());
    for (point, field) in points {
        let set = document.field(field);
        for plugin in set.field("enabled").elements() {
            removed(&plugin, plugin.field("name").text(), context, wrong);
        }
        if !set.is_absent() {
            sets.insert(point, PluginSet::read(&set));
        }
    }
    sets
}

fn removed(place: &Document<'_>, name: &str, context: &Context<'_>, wrong: &mut Vec<String>) {
    let gone = REMOVED.iter().find(|(version, first, last, names)| {
        context.version >= *version && (*first..=*last).contains(&context.release.0) && names.contains(&name)
    });
    if let Some((version, ..)) = gone {
        let word = if context.release.0 >= 25 { "invalid" } else { "removed" };
        // Since 1.25 upstream names the version without its group where it is v1.
        let of = |version: ConfigVersion| {
            if version == ConfigVersion::V1 { "v1".to_owned() } else { format!("kubescheduler.config.k8s.io/{}", version.name()) }
        };
        let own = format!("kubescheduler.config.k8s.io/{}", context.version.name());
        wrong.push(place.invalid(
            format!("{name:?}"),
            format!("was {word} in version {:?} (KubeSchedulerConfiguration is version {own:?})", of(*version)),
        ));
    }
}

fn plugin_config(list: &Document<'_>, context: &Context<'_>, profile: &mut Profile, wrong: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for entry in list.elements() {
        let (name, args) = (entry.field("name").text(), entry.field("args"));
        if !seen.insert(name) {
            wrong.push(entry.duplicate(name));
        }
        let before = wrong.len();
        removed(&entry, name, context, wrong);
        let kind = args.field("kind").text();
        if !kind.is_empty() && kind != format!("{name}Args") && defaults::is_known(name, context.release) {
            wrong.push(args.invalid(arguments::shown(args.value()), "has to match plugin args"));
        }
        if wrong.len() > before {
            args.know_all();
        } else if !arguments::read(name, &args, context, &mut profile.arguments, wrong)
            && defaults::is_known(name, context.release)
            && !args.is_absent()
        {
            profile.unverifiable.push(format!("Arguments of the plugin {name} are not modelled."));
        }
    }
}

/// The profile that sets of plugins make of the defaults.
fn assemble(context: &Context<'_>, custom: &Plugins, wrong: &mut Vec<String>) -> Profile {
    let release = judged_as(context.release);
    let mut merged = defaults::plugins(context.version, release, context.gates);
    let none = PluginSet::default();
    for (point, _) in Point::ALL {
        if let Some(set) = custom.get(&point) {
            let set = merged.get(&point).unwrap_or(&none).merged(set, context.version.replaces_in_place());
            merged.insert(point, set);
        }
    }
    let mut profile = Profile::new(context.release, context.gates.clone());
    let mut at = |point: Point| match expand(&merged, point, release) {
        Ok(found) => found,
        Err(reason) => {
            wrong.push(reason);
            Vec::new()
        }
    };
    let (filters, scores, prefilters) = (at(Point::Filter), at(Point::Score), at(Point::PreFilter));
    let (post, enqueue, sort, bind) = (at(Point::PostFilter), at(Point::PreEnqueue), at(Point::QueueSort), at(Point::Bind));
    let named = |plugins: &[Enabled], name: &str| plugins.iter().any(|plugin| plugin.name == name);
    let rule = |plugin: &Enabled| plugins::find(&plugin.name).filter(|rule| rule.name() == plugin.name);
    profile.filters =
        filters.iter().filter_map(|plugin| rule(plugin).map(|rule| FilterEntry { name: rule.name(), plugin: rule })).collect();
    profile.scores = scores
        .iter()
        .filter_map(|plugin| rule(plugin).map(|rule| ScoreEntry { name: rule.name(), plugin: rule, weight: plugin.weight }))
        .collect();
    let strangers = [Point::Score, Point::MultiPoint].into_iter().filter_map(|point| merged.get(&point)).flat_map(|set| &set.enabled);
    profile.scoring = !scores.is_empty() || strangers.into_iter().any(|plugin| !defaults::is_known(&plugin.name, release));
    profile.prefilter_order = prefilters.iter().filter_map(|plugin| rule(plugin).map(|rule| rule.name())).collect();
    let no_filter = prefilters.iter().filter(|plugin| !named(&filters, &plugin.name));
    profile.prefilters_only =
        no_filter.filter_map(|plugin| rule(plugin).map(|rule| FilterEntry { name: rule.name(), plugin: rule })).collect();
    let alone = |entry: &&FilterEntry| {
        FALL_BACK.contains(&entry.name) && defaults::extends(entry.name, Point::PreFilter, release) && !named(&prefilters, entry.name)
    };
    profile.without_prefilter = profile.filters.iter().filter(alone).map(|entry| entry.name).collect();
    profile.preempts = profile.preempts && (release.0 <= 18 || named(&post, "DefaultPreemption"));
    profile.rules.dra = named(&post, "DynamicResources");
    if !named(&enqueue, "SchedulingGates") {
        profile.gates = profile.gates.clone().with("PodSchedulingReadiness", false);
    }
    for name in foreign(&merged, release) {
        profile.unverifiable.push(format!("The plugin {name} is not of Kubernetes' tree; what it says is not in etcd."));
    }
    for plugin in filters.iter().chain(&scores).filter(|plugin| rule(plugin).is_none()) {
        profile.unverifiable.push(format!("ketcd has no rule for the plugin {}.", plugin.name));
    }
    for plugin in
        filters.iter().filter(|plugin| defaults::extends(&plugin.name, Point::PreFilter, release) && !named(&prefilters, &plugin.name))
    {
        profile
            .unverifiable
            .push(format!("The plugin {} filters but its PreFilter is disabled: upstream fails, or decides without it.", plugin.name));
    }
    let name = &profile.scheduler_name;
    if sort.len() != 1 && foreign(&merged, release).is_empty() {
        wrong.push(format!("only one queue sort plugin required for profile with scheduler name {name:?}, but got {}", sort.len()));
    }
    if bind.is_empty() && foreign(&merged, release).is_empty() {
        wrong.push(format!("at least one bind plugin is needed for profile with scheduler name {name:?}"));
    }
    profile
}

/// v1alpha1: one scheduler, its plugins by the name of a provider.
fn alpha(document: &Document<'_>, context: &Context<'_>, wrong: &mut Vec<String>) -> Profile {
    document.know(&["lockObjectNamespace", "lockObjectName"]);
    let plugins = if context.release.0 >= 18 { plugin_sets(&document.field("plugins"), context, wrong) } else { Plugins::new() };
    let mut profile =
        if context.release.0 >= 18 { assemble(context, &plugins, wrong) } else { Profile::new(context.release, context.gates.clone()) };
    if context.release.0 >= 18 {
        plugin_config(&document.field("pluginConfig"), context, &mut profile, wrong);
    } else {
        document.know(&["plugins", "pluginConfig"]);
    }
    let name = document.field("schedulerName");
    if !name.text().is_empty() {
        name.text().clone_into(&mut profile.scheduler_name);
    }
    if let Some(weight) = document.field("hardPodAffinitySymmetricWeight").whole() {
        profile.arguments.hard_pod_affinity_weight = weight;
    }
    if document.field("disablePreemption").truth() == Some(true) {
        profile.preempts = false;
    }
    let source = document.field("algorithmSource");
    let (provider, policy) = (source.field("provider"), source.field("policy"));
    policy.know_all();
    if !policy.is_absent() {
        wrong.push(format!("{}: the configuration names a Policy: give that file itself", policy.path()));
    }
    match provider.text() {
        "" | "DefaultProvider" => {}
        "ClusterAutoscalerProvider" => most_allocated(&mut profile),
        other => wrong.push(format!("{}: algorithm provider {other:?} is not registered", provider.path())),
    }
    profile
}

/// The provider that fills nodes: the score for emptier nodes gives way to the one for fuller ones.
fn most_allocated(profile: &mut Profile) {
    for entry in &mut profile.scores {
        let name = match entry.name {
            "NodeResourcesLeastAllocated" => "NodeResourcesMostAllocated",
            "LeastRequestedPriority" => "MostRequestedPriority",
            _ => continue,
        };
        if let Some(rule) = plugins::find(name) {
            *entry = ScoreEntry { name: rule.name(), plugin: rule, weight: entry.weight };
        }
    }
}
