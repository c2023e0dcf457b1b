//! `ketcd record`: writes down what a live etcd goes through.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueHint};

use ketcd_kube::is_secret_key;
use ketcd_store::etcd::EtcdSource;
use ketcd_store::recording::{Continuity, Keep, Recorder, RecorderOptions, RecordingScope, continuity};
use ketcd_store::{KeyRange, Source};

use crate::cli::args::{GlobalArgs, size};
use crate::cli::attendance::Attendance;
use crate::cli::output::note;
use crate::cli::recorder::{Following, Metrics, Progress, Shared};
use crate::cli::termination::Interruptions;
use crate::cli::{Error, Outcome, Result, connection, output};

/// Record every change of a live etcd
///
/// Writes every change, from the oldest readable revision on, into a directory until interrupted. -f DIR reads the recording, even while it
/// is being written. Started again, it continues where it stopped. Revisions that etcd compacted before they could be read are recorded as
/// a gap. Changes are on disk within a second. Secrets are left out unless --show-secrets is given.
#[derive(Args, Debug)]
#[command(before_help = "\
# Record a month of a live etcd\n\
ketcd record recording --keep 30d\n\
# Record pods and nodes alone\n\
ketcd record incident --keys /registry/pods/ --keys /registry/minions/")]
pub(crate) struct RecordArgs {
    /// The directory of the recording, created if needed and readable by its owner only.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    directory: PathBuf,
    /// Record only keys that begin with this, such as /registry/pods/; may be given more than once. Default: all keys.
    #[arg(long = "keys", value_name = "PREFIX")]
    prefixes: Vec<String>,
    /// Keep the newest part of the recording: by recorded time (30d, 12h) or by size (20GB). Default: everything.
    #[arg(long, value_name = "AGE|SIZE", value_parser = keep)]
    keep: Option<Keep>,
    /// Serve Prometheus metrics on this address, without TLS or a password; they contain only numbers.
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    /// Start a new file when the current one reaches this size.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "64Mi")]
    file_size: u64,
    /// Start a new file when the current one reaches this age.
    #[arg(long, value_name = "AGE", value_parser = age, default_value = "1h")]
    file_age: Duration,
}

/// Runs the command.
pub(super) async fn run(global: &GlobalArgs, args: &RecordArgs) -> Result<Outcome> {
    if !global.files.is_empty() {
        return Err(Error::new("record follows a live etcd, but -f names a file").hint("remove -f, or copy the file itself"));
    }
    let config = connection::config(&global.connection, Attendance::User)?;
    let source = EtcdSource::new(config, Arc::new(|notice: &str| output::note(notice)))?;
    let ranges: Vec<KeyRange> = match args.prefixes.is_empty() {
        true => vec![KeyRange::all()],
        false => args.prefixes.iter().map(|prefix| KeyRange::prefix(prefix.as_str())).collect(),
    };
    ketcd_store::LiveEtcd::will_read(&source, &KeyRange::hull(&ranges));
    let span = source.span().await?;
    let left_out = if global.show_secrets { Vec::new() } else { vec!["Secrets".to_owned()] };
    let scope = RecordingScope { cluster_id: source.status().await?.cluster_id, prefixes: args.prefixes.clone(), left_out };
    let options = RecorderOptions { file_bytes: args.file_size, file_age: args.file_age, keep: args.keep };
    let mut interruptions = Interruptions::begin()?;
    let mut recorder = Recorder::open(&args.directory, &scope, options)?;
    recorder.problems().iter().for_each(|problem| note(&format!("{}: {problem}", args.directory.display())));
    match recorder.reached() {
        None => recorder.begin_after(span.oldest),
        Some(reached) if reached > span.newest => {
            let what = format!("the newest revision is {}, but {} has revision {reached}", span.newest, args.directory.display());
            return Err(Error::new(format!("{what}: etcd was restored from a backup")).hint("record into another directory"));
        }
        Some(_) => check_continuity(global, args, &source, &ranges).await?,
    }
    let from = recorder.reached().unwrap_or(span.oldest).after();
    note(&format!("recording from revision {from} on into {}; Ctrl-C ends it", args.directory.display()));
    let shared = Arc::new(Shared::new(recorder.recorded(), span.newest));
    let metrics = match args.metrics {
        Some(address) => Some(Metrics::start(address, Arc::clone(&shared)).await?),
        None => None,
    };
    if let Some(metrics) = &metrics {
        note(&format!("metrics on http://{}/metrics", metrics.address()));
    }
    let mut progress = Progress::start(Arc::clone(&shared));
    let mut following = Following::new(&source, &ranges, !global.show_secrets, recorder, &shared);
    let ended = tokio::select! {
        ended = following.run(from) => ended,
        failed = progress.run(&source, &ranges) => match failed {},
        _ = interruptions.next() => Ok(()),
    };
    progress.end();
    // What was taken before an error of etcd's is kept; a disk that is full refuses it again.
    let flushed = following.end();
    ended?;
    flushed?;
    note(&format!("recorded up to revision {}", shared.recorded().revision));
    Ok(Outcome::Found)
}

/// Refuses to go on with another history than the one that was recorded.
async fn check_continuity(global: &GlobalArgs, args: &RecordArgs, source: &EtcdSource, ranges: &[KeyRange]) -> Result<()> {
    let shows_secrets = global.show_secrets;
    let is_recorded = move |key: &[u8]| ranges.iter().any(|range| range.contains(key)) && (shows_secrets || !is_secret_key(key));
    match continuity(&args.directory, source, &is_recorded, ranges).await? {
        Continuity::Same => Ok(()),
        Continuity::Unknown => {
            note(&format!("cannot verify that this etcd continues the history in {}", args.directory.display()));
            Ok(())
        }
        Continuity::Other(evidence) => {
            let what = format!("this etcd does not continue the history in {}: {evidence}", args.directory.display());
            Err(Error::new(format!("{what}; it was restored from a backup, or is another one")).hint("record into another directory"))
        }
    }
}

/// `30d`.
fn age(text: &str) -> std::result::Result<Duration, String> {
    let wrong = || format!("invalid age {text:?}: expected a duration such as 30d, 12h, 90m or 60s");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 24 * 3600,
        'w' => 7 * 24 * 3600,
        _ => return Err(wrong()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    number.checked_mul(seconds).filter(|&seconds| seconds > 0 && seconds < 1 << 40).map(Duration::from_secs).ok_or_else(wrong)
}

/// `30d`, or `20GB`.
fn keep(text: &str) -> std::result::Result<Keep, String> {
    if let Ok(age) = age(text) {
        return Ok(Keep::Age(age));
    }
    let bytes = size(text.strip_suffix('B').unwrap_or(text));
    bytes.map(Keep::Bytes).map_err(|_| format!("invalid value {text:?}: expected an age such as 30d or a size such as 20GB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_keep_is_an_age_or_a_size() {
        let days = |days: u64| Ok(Keep::Age(Duration::from_secs(days * 24 * 3600)));
        assert_eq!((keep("30d"), keep("2w"), keep("24h")), (days(30), days(14), days(1)));
        assert_eq!(
            (keep("20GB"), keep("20G"), keep("1Gi")),
            (Ok(Keep::Bytes(20_000_000_000)), Ok(Keep::Bytes(20_000_000_000)), Ok(Keep::Bytes(1 << 30)))
        );
        assert!(["", "d", "0d", "-1d", "x", "1y", "0"].iter().all(|text| keep(text).is_err()));
    }
}
