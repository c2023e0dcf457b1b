//! A pod with the configuration that its containers started with, and what changed in it since.

use std::io::{self, Write};

use super::change::time;
use super::contract::common::{KubernetesObject, Time};
use super::contract::with_config::{self as contract, PodWithConfig};
use super::row::row;
use super::visible::visible;
use super::{document, yaml};
use ketcd_history::config::Use;
use ketcd_history::diff::{Detail, ManagedFields, object_fields, object_patch};
use ketcd_history::noise;

pub use ketcd_cluster::configuration::{Config, Started};

/// How a pod uses a source of its configuration.
fn use_words(used: &Use) -> String {
    let variables = (!used.variables.is_empty()).then(|| format!("variables of {}", used.variables.join(", ")));
    let volumes = (!used.volumes.is_empty()).then(|| format!("files in volume {}", used.volumes.join(", ")));
    variables.into_iter().chain(volumes).collect::<Vec<_>>().join("; ")
}

/// Writes a YAML stream: the pod, then each source as it was at the start; what changed since stands in comments above it.
///
/// # Errors
/// The stream's.
pub fn write_text(started: Started, managed_fields: ManagedFields, out: &mut dyn Write) -> io::Result<()> {
    let at = match (started.revision, started.dated) {
        (Some(revision), Some(dated)) => format!("its containers started last at r{revision}, {} ±{} s", time(dated.time), dated.error),
        (Some(revision), None) => format!("its containers started last at r{revision}"),
        (None, _) => {
            "the readable history does not reach back to the start of its containers; its current configuration is shown".to_owned()
        }
    };
    writeln!(out, "# {at}")?;
    yaml::write(&document::shown(started.pod, managed_fields), out)?;
    for config in started.config {
        writeln!(out, "---\n# {} {}: {}", config.kind.as_str(), visible(&config.name), visible(&use_words(&config.used)))?;
        for line in changes(&config) {
            writeln!(out, "# {}", visible(&line))?;
        }
        if let Some(then) = config.then {
            yaml::write(&document::shown(then, managed_fields), out)?;
        }
    }
    Ok(())
}

/// What changed since the start: one sentence or field per line.
fn changes(config: &Config) -> Vec<String> {
    match (&config.then, &config.now) {
        (None, _) => vec![config.problem.clone().unwrap_or_else(|| "there was none when the containers started".to_owned())],
        (Some(_), None) => vec!["deleted since".to_owned()],
        (Some(then), Some(now)) if then == now => vec!["not changed since".to_owned()],
        (Some(then), Some(now)) => {
            let (changed, _) = noise::fold(object_fields(then, now, Detail::Leaves));
            let late = if config.used.variables.is_empty() { "" } else { " (variables keep their old values until a restart)" };
            let rows = changed.iter().map(row).map(|row| format!("  {} {}  {}", row.sign, row.path, row.value));
            std::iter::once(format!("changed since, in r{}{late}:", now["metadata"]["resourceVersion"].as_str().unwrap_or("?")))
                .chain(rows)
                .collect()
        }
    }
}

/// The same as one JSON document.
pub fn document(started: &Started, managed_fields: ManagedFields) -> PodWithConfig<'_> {
    PodWithConfig {
        config: started.config.iter().map(|config| config_document(config, managed_fields)).collect(),
        kind: "PodWithConfig",
        pod: KubernetesObject { object: &started.pod, managed_fields },
        started_revision: started.revision.map(|revision| revision.0),
        started_time: Time::of(started.dated),
        time_error_seconds: started.dated.map(|dated| dated.error),
    }
}

fn config_document(config: &Config, managed_fields: ManagedFields) -> contract::Config<'_> {
    contract::Config {
        at_start: config.then.as_deref().map(|object| KubernetesObject { object, managed_fields }),
        changed_since: config.then.as_ref().zip(config.now.as_ref()).map(|(then, now)| object_patch(then, now, managed_fields)),
        deleted_since: config.then.is_some() && config.now.is_none(),
        kind: config.kind.into(),
        name: &config.name,
        problem: config.problem.as_deref(),
        variables_of: &config.used.variables,
        volumes: &config.used.volumes,
    }
}
