//! A file's profiles, made as upstream makes them when a scheduler starts. Upstream: `scheduler.go` New, `profile/profile.go` NewMap,
//! `framework/runtime/framework.go` NewFramework.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::framework::GangPoints;
use crate::legacy::{NodeLabel, PolicyPredicate, ServiceAntiAffinity};
use crate::profile::PLACEMENT_SCORES;
use crate::release::{ConfigRules, Point, extends};
use crate::{FilterEntry, Plugin, Profile, Release, Rules, ScoreEntry, Unverifiable, registry};

use super::context::Context;
use super::draft::Draft;
use super::framework::{self, Framework};
use super::plugin_set::{Enabled, PluginSet};
use super::versions::ConfigVersion;
use super::{arguments, decode, extenders};
use crate::validation::Document;

/// Makes every profile; the error is why the first one that fails cannot be made.
pub(super) fn make(document: &Document<'_>, drafts: &[Draft<'_>], context: &Context<'_>) -> Result<Vec<Profile>, String> {
    let all = percentage(&document.field("percentageOfNodesToScore"));
    let (named, ignored) = (extenders::named(document, context), extenders::left_to_them(document, context));
    let mut profiles = Vec::new();
    for draft in drafts {
        let made = queue_sort(draft, &drafts[0], context).and_then(|()| one(draft, context));
        let mut profile = made.map_err(|reason| format!("profile {}: {reason}", draft.name))?;
        queue_sort_arguments(draft, &drafts[0]).map_err(|reason| format!("profile {}: {reason}", draft.name))?;
        let own = draft.place.field("percentageOfNodesToScore");
        profile.percentage_of_nodes_to_score = if own.is_absent() { all } else { percentage(&own) };
        profile.scoring |= !named.is_empty();
        profile.unverifiable.extend(named.iter().cloned());
        if !ignored.is_empty() {
            profile.arguments.ignored_resources.clone_from(&ignored);
        }
        profiles.push(profile);
    }
    if context.version == ConfigVersion::V1Alpha1 {
        alpha(document, &mut profiles[0])?;
    }
    Ok(profiles)
}

/// Zero means upstream's default.
fn percentage(field: &Document<'_>) -> Option<i64> {
    field.whole().filter(|value| *value != 0)
}

/// Checks the QueueSort plugin in releases that do so before a profile is created.
fn queue_sort(draft: &Draft<'_>, first: &Draft<'_>, context: &Context<'_>) -> Result<(), String> {
    let names = |draft: &Draft<'_>| -> Vec<String> {
        let set = draft.plugins.get(&Point::QueueSort);
        set.into_iter().flat_map(|set| &set.enabled).map(|plugin| plugin.name.clone()).collect()
    };
    let (own, first) = (names(draft), names(first));
    match (&own[..], &first[..]) {
        _ if !context.rules().looks_up_queue_sort_first() => Ok(()),
        ([one], [other, ..]) if one != other => {
            Err(format!("{one} sorts its queue, and {other} that of the first profile: they share one queue"))
        }
        ([_], _) => Ok(()),
        _ => Err("exactly one plugin must sort the queue (queueSort)".to_owned()),
    }
}

/// The QueueSort plugin must have the same arguments in every profile.
fn queue_sort_arguments(draft: &Draft<'_>, first: &Draft<'_>) -> Result<(), String> {
    let sorts = |draft: &Draft<'_>| draft.plugins.get(&Point::QueueSort).and_then(|set| Some(set.enabled.first()?.name.clone()));
    let arguments = |draft: &Draft<'_>| {
        let name = sorts(draft).unwrap_or_else(|| "PrioritySort".to_owned());
        draft.arguments_of(&name).map(|args| args.value().clone()).unwrap_or_default()
    };
    if arguments(draft) == arguments(first) {
        Ok(())
    } else {
        Err("the arguments of the plugin that sorts the queue are not those of the first profile".to_owned())
    }
}

fn one(draft: &Draft<'_>, context: &Context<'_>) -> Result<Profile, String> {
    let release = context.release;
    let mut profile = Profile::new(release, context.gates.clone());
    profile.scheduler_name.clone_from(&draft.name);
    if !context.rules().configures_plugins() {
        return Ok(profile);
    }
    let mut seen = BTreeSet::new();
    if let Some((_, name, _)) = draft.arguments.iter().find(|(_, name, _)| !seen.insert(*name)) {
        return Err(format!("plugin {name} is configured twice"));
    }
    for (_, name, args) in &draft.arguments {
        let mut reasons = arguments::read(name, args, context, &mut profile.arguments);
        if !arguments::checked_when_made(name, context) || !framework::needed(&draft.plugins).any(|needed| needed == *name) {
            continue;
        }
        if let Some(fault) = decode::fault(args.value(), name, context)
            .filter(|_| context.rules().plugins_decode_arguments() && arguments::taken_in_1_18(name))
        {
            reasons = vec![fault];
        }
        refuse(name, &reasons)?;
    }
    if let Some(name) = without_arguments(draft) {
        refuse(name, &["it needs arguments".to_owned()])?;
    }
    let made = Framework::new(&draft.plugins, &Rules::new(release, context.gates))?;
    fill(&mut profile, &made, draft);
    unverifiable(&mut profile, &made, draft, context);
    Ok(profile)
}

/// Returns a plugin that requires arguments and gets none: no defaults are made for plugins enabled only at `podGroupPostFilter`, the point that 1.37
/// added (`apis/config/v1/defaults.go` pluginsNames).
fn without_arguments<'d>(draft: &'d Draft<'_>) -> Option<&'d str> {
    let enabled = |set: &'d PluginSet| set.enabled.iter().map(|plugin| plugin.name.as_str());
    let others = || draft.plugins.iter().filter(|(point, _)| **point != Point::PodGroupPostFilter).flat_map(|(_, set)| enabled(set));
    let wants = |name: &str| matches!(name, "DefaultPreemption" | "DynamicResources");
    let given = |name: &str| draft.arguments.iter().any(|(_, known, _)| *known == name) || others().any(|known| known == name);
    draft.plugins.get(&Point::PodGroupPostFilter).into_iter().flat_map(enabled).find(|name| wants(name) && !given(name))
}

fn refuse(plugin: &str, reasons: &[String]) -> Result<(), String> {
    arguments::not_made(plugin, reasons).map_or(Ok(()), Err)
}

fn fill(profile: &mut Profile, made: &Framework, draft: &Draft<'_>) {
    let (filters, prefilters) = (made.at(Point::Filter), made.at(Point::PreFilter));
    let filter = |plugin: &Enabled| rule(&plugin.name, Point::Filter, draft).map(|(name, plugin)| FilterEntry { name, plugin });
    profile.filters = filters.iter().filter_map(filter).collect();
    let score = |plugin: &Enabled| {
        rule(&plugin.name, Point::Score, draft).map(|(name, rule)| ScoreEntry { name, plugin: rule, weight: plugin.weight })
    };
    profile.scores = made.at(Point::Score).iter().filter_map(score).collect();
    profile.prefilter_order =
        prefilters.iter().filter_map(|plugin| rule(&plugin.name, Point::Filter, draft)).map(|(name, _)| name).collect();
    let no_filter = prefilters.iter().filter(|plugin| !made.runs(&plugin.name, Point::Filter));
    profile.prefilters_only = no_filter.filter_map(filter).collect();
    let release = profile.release;
    let labels = draft.arguments_of("ServiceAffinity").is_some_and(|args| !args.field("affinityLabels").texts().is_empty());
    let alone = |entry: &&FilterEntry| {
        (labels || entry.name != "ServiceAffinity")
            && entry.plugin.without_prefilter(&profile.rules).is_known()
            && extends(entry.name, Point::PreFilter, release)
            && !made.runs(entry.name, Point::PreFilter)
    };
    profile.without_prefilter = profile.filters.iter().filter(alone).map(|entry| entry.name).collect();
    let scores_alone =
        |entry: &&ScoreEntry| scores_alone(entry.name, made, release) && entry.plugin.without_prescore(&profile.rules).is_known();
    profile.without_prescore = profile.scores.iter().filter(scores_alone).map(|entry| entry.name).collect();
    profile.generates_placements = made.runs("TopologyPlacementGenerator", Point::PlacementGenerate);
    let placements = |plugin: &Enabled| PLACEMENT_SCORES.iter().find(|name| **name == plugin.name).map(|name| (*name, plugin.weight));
    profile.placement_scores = made.at(Point::PlacementScore).iter().filter_map(placements).collect();
    if extends("DefaultPreemption", Point::PostFilter, release) {
        profile.preempts = profile.preempts && made.runs("DefaultPreemption", Point::PostFilter);
        let known = ["DynamicResources", "DefaultPreemption"];
        let post = made.at(Point::PostFilter).iter().filter_map(|plugin| known.into_iter().find(|name| *name == plugin.name));
        profile.post_filters = post.collect();
    }
    profile.pre_enqueues.retain(|name| made.runs(name, Point::PreEnqueue));
    let gang = |point: Point| made.runs("GangScheduling", point);
    profile.gang =
        GangPoints { permit: gang(Point::Permit), feasible: [Point::PreEnqueue, Point::Reserve, Point::Permit].into_iter().any(gang) };
}

/// Whether a plugin scores although its PreScore is disabled.
fn scores_alone(name: &str, made: &Framework, release: Release) -> bool {
    extends(name, Point::PreScore, release) && !made.runs(name, Point::PreScore)
}

/// Returns the plugin behind a name at a point, with the name it is reported by. A configuration lives as long as the program, so do plugins made
/// from arguments.
fn rule(name: &str, point: Point, draft: &Draft<'_>) -> Option<(&'static str, &'static dyn Plugin)> {
    let texts = |field: &str| draft.arguments_of(name).map(|args| args.field(field).texts()).unwrap_or_default();
    let labels = |present: &str, absent: &str| -> Vec<(Arc<str>, bool)> {
        let present = texts(present).into_iter().map(|label| (label, true));
        present.chain(texts(absent).into_iter().map(|label| (label, false))).collect()
    };
    match (name, point) {
        ("NodeLabel", Point::Score) => {
            let labels = labels("presentLabelsPreference", "absentLabelsPreference");
            Some(("NodeLabel", Box::leak(Box::new(NodeLabel { labels }))))
        }
        ("NodeLabel", _) => {
            let labels = labels("presentLabels", "absentLabels");
            Some(("NodeLabel", Box::leak(Box::new(PolicyPredicate::label_presence("NodeLabel", labels)))))
        }
        ("ServiceAffinity", Point::Score) => {
            Some(("ServiceAffinity", Box::leak(Box::new(ServiceAntiAffinity { labels: texts("antiAffinityLabelsPreference") }))))
        }
        ("ServiceAffinity", _) => {
            let labels = texts("affinityLabels");
            Some(("ServiceAffinity", Box::leak(Box::new(PolicyPredicate::service_affinity("ServiceAffinity", labels)))))
        }
        _ => registry::find(name).filter(|rule| rule.name() == name).map(|rule| (rule.name(), rule)),
    }
}

/// Adds what a profile names that is not known here, or that upstream has a bug with.
fn unverifiable(profile: &mut Profile, made: &Framework, draft: &Draft<'_>, context: &Context<'_>) {
    let rules = profile.rules.clone();
    let release = context.release;
    let outside = framework::foreign(&draft.plugins, release);
    let scores = [Point::Score, Point::MultiPoint].into_iter().filter_map(|point| draft.plugins.get(&point)).flat_map(|set| &set.enabled);
    profile.scoring = !made.at(Point::Score).is_empty() || scores.into_iter().any(|plugin| outside.contains(&plugin.name));
    let unverifiable = &mut profile.unverifiable;
    unverifiable.extend(outside.into_iter().map(Unverifiable::OutOfTreePlugin));
    for (point, plugin) in
        [Point::Filter, Point::Score].into_iter().flat_map(|point| made.at(point).iter().map(move |plugin| (point, plugin)))
    {
        if rule(&plugin.name, point, draft).is_none() {
            unverifiable.push(Unverifiable::UnknownPlugin(plugin.name.clone()));
        }
    }
    unverifiable.extend(made.twice.iter().map(|plugin| Unverifiable::ScoreRunsTwice { plugin: plugin.clone(), release }));
    if !ConfigRules::of(release).checks_weights() && draft.plugins.values().flat_map(|set| &set.enabled).any(|plugin| plugin.weight < 0) {
        unverifiable.push(Unverifiable::NegativeWeight(release));
    }
    for plugin in made.at(Point::Score) {
        let name = &plugin.name;
        let known = || rule(name, Point::Score, draft).is_some_and(|(_, plugin)| plugin.without_prescore(&rules).is_known());
        if scores_alone(name, made, release) && !known() {
            unverifiable.push(Unverifiable::ScoreWithoutPreScore(name.clone()));
        }
    }
    for plugin in made.at(Point::Filter) {
        let name = &plugin.name;
        let alone = extends(name, Point::PreFilter, release) && !made.runs(name, Point::PreFilter);
        let known = || rule(name, Point::Filter, draft).is_some_and(|(_, plugin)| plugin.without_prefilter(&rules).is_known());
        if alone && !known() {
            unverifiable.push(Unverifiable::FilterWithoutPreFilter(name.clone()));
        }
    }
}

/// Reads the other fields of v1alpha1: one scheduler, its plugins by the name of an algorithm provider.
fn alpha(document: &Document<'_>, profile: &mut Profile) -> Result<(), String> {
    if let Some(weight) = document.field("hardPodAffinitySymmetricWeight").whole() {
        profile.arguments.hard_pod_affinity_weight = weight;
    }
    if document.field("disablePreemption").truth() == Some(true) {
        profile.preempts = false;
    }
    let source = document.field("algorithmSource");
    let (provider, policy) = (source.field("provider"), source.field("policy"));
    if !policy.is_absent() {
        return Err(format!("{}: it names a Policy: give that file instead", policy.path()));
    }
    match provider.text() {
        "" | "DefaultProvider" => Ok(()),
        "ClusterAutoscalerProvider" => {
            most_allocated(profile);
            Ok(())
        }
        other => Err(format!("{}: there is no algorithm provider {other:?}", provider.path())),
    }
}

/// The ClusterAutoscalerProvider: MostAllocated replaces LeastAllocated.
fn most_allocated(profile: &mut Profile) {
    for entry in &mut profile.scores {
        let name = match entry.name {
            "NodeResourcesLeastAllocated" => "NodeResourcesMostAllocated",
            "LeastRequestedPriority" => "MostRequestedPriority",
            _ => continue,
        };
        if let Some(rule) = registry::find(name) {
            *entry = ScoreEntry { name: rule.name(), plugin: rule, weight: entry.weight };
        }
    }
}
