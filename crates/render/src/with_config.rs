//! A pod with the configuration that its containers started with, and what changed in it since.

use std::io::{self, Write};

use super::change::time;
use super::contract::common::{KubernetesObject, Time};
use super::contract::with_config::{self as contract, PodWithConfig};
use super::row::row;
use super::value::{columns, padded};
use super::visible::visible;
use super::{document, yaml};
use ketcd_history::config::Use;
use ketcd_history::diff::{Detail, ManagedFields, object_fields, object_patch};
use ketcd_history::noise;
use ketcd_kube::Object;

pub use ketcd_cluster::configuration::{Config, Started};

/// How a pod uses a source of its configuration.
fn use_words(used: &Use) -> String {
    let variables = (!used.variables.is_empty()).then(|| format!("variables of {}", used.variables.join(", ")));
    let volumes = (!used.volumes.is_empty()).then(|| format!("files in volume {}", used.volumes.join(", ")));
    variables.into_iter().chain(volumes).collect::<Vec<_>>().join("; ")
}

/// Writes a YAML stream: the pod, then each source as it was at the start; comments above it say what changed since.
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
    write_contents(&started, out)?;
    let is_known = started.revision.is_some();
    yaml::write(&document::shown(started.pod, managed_fields), out)?;
    for config in started.config {
        writeln!(out, "---\n# {} {}: {}", config.kind.as_str(), visible(&config.name), visible(&use_words(&config.used)))?;
        // What it is now says nothing of what it was.
        for line in changes(&config).iter().filter(|_| is_known || config.then.is_none()) {
            writeln!(out, "# {}", visible(line))?;
        }
        if let Some(then) = config.then {
            yaml::write(&document::shown(then, managed_fields), out)?;
        }
    }
    Ok(())
}

/// Writes what the pod takes its configuration from, one a line: as of when it is shown, whether it changed since, and what takes it.
fn write_contents(started: &Started, out: &mut dyn Write) -> io::Result<()> {
    let revision = |object: &Option<Object>| Some(format!("r{}", object.as_ref()?["metadata"]["resourceVersion"].as_str()?));
    let mut rows = Vec::new();
    for config in &started.config {
        let name = format!("{} {}", config.kind.as_str(), visible(&config.name));
        let when = config.written.map_or(String::new(), |written| format!(" of {}", time(written.time)));
        let then = revision(&config.then).map_or(String::new(), |then| format!("as of {then}{when}, "));
        let since = match (&config.then, &config.now) {
            (Some(_), Some(_)) if started.revision.is_none() => "what it was at the start is not known".to_owned(),
            (Some(then), Some(now)) if then != now => format!("changed since, in {}", revision(&config.now).unwrap_or_default()),
            _ => changes(config).swap_remove(0),
        };
        rows.push([name, visible(&format!("{then}{since}")).into_owned(), visible(&use_words(&config.used)).into_owned()]);
    }
    let width = |column: usize| rows.iter().map(|row| columns(&row[column])).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    rows.iter().try_for_each(|[name, since, used]| writeln!(out, "#   {}  {}  {used}", padded(name, first), padded(since, second)))
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ketcd_history::config::ConfigKind;
    use ketcd_store::Revision;
    use serde_json::json;

    use super::*;

    fn config(name: &str, then: Option<u32>, now: Option<u32>) -> Config {
        let object = |revision: u32| {
            Object::from(json!({"metadata": {"name": name, "resourceVersion": revision.to_string()}, "data": {"a": revision.to_string()}}))
        };
        let used = Use { variables: vec!["c".to_owned()], volumes: Vec::new() };
        Config {
            kind: ConfigKind::ConfigMap,
            name: name.to_owned(),
            used,
            then: then.map(object),
            written: None,
            now: now.map(object),
            problem: None,
        }
    }

    #[test]
    fn the_first_lines_say_what_was_read_and_whether_it_changed() {
        let configs = || {
            vec![
                config("same", Some(3), Some(3)),
                config("other", Some(4), Some(9)),
                config("gone", Some(5), None),
                config("late", None, Some(8)),
            ]
        };
        let print = |revision: Option<i64>| {
            let pod = Object::from(json!({"kind": "Pod", "metadata": {"name": "p"}}));
            let started = Started { pod, revision: revision.map(Revision), dated: None, config: configs() };
            crate::style::plain(|out| write_text(started, ManagedFields::Hidden, out))
        };
        let text = print(Some(7));
        let lines: BTreeMap<usize, &str> = text.lines().enumerate().collect();
        assert_eq!(lines[&0], "# its containers started last at r7");
        assert_eq!(
            lines[&1].split_whitespace().collect::<Vec<_>>().join(" "),
            "# ConfigMap same as of r3, not changed since variables of c"
        );
        assert!(lines[&2].contains("as of r4, changed since, in r9") && lines[&3].contains("as of r5, deleted since"), "{text}");
        assert!(lines[&4].contains("there was none when the containers started") && !lines[&5].starts_with('#'), "{text}");
        // Where the start cannot be read, nothing is said to be the same.
        let text = print(None);
        assert!(text.contains("as of r3, what it was at the start is not known") && !text.contains("not changed since"), "{text}");
    }
}
