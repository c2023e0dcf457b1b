//! The source that the flags name, opened: files, a live etcd, an API server, or audit logs.

use std::sync::{Arc, LazyLock};

use jiff::Timestamp;

use ketcd_cluster::{LogHistory, LogNotes, files, open_logs};
use ketcd_store::Source;
use ketcd_store::etcd::EtcdSource;
use ketcd_store::load::{AuditLogs, Cache, Limits, StandardInput, WithAuditLogs};

use super::{api_server, etcd};
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::outcome::{Error, Result};
use crate::cli::output::notices::Attendance;
use crate::cli::output::progress;
use crate::cli::system;

/// What the flags name.
pub(in crate::cli) struct Opened {
    pub source: Box<dyn Source>,
    /// The newest time in files of objects.
    pub newest_stamp: Option<Timestamp>,
    pub logs: AuditLogs,
    /// What the logs leave out, where the source is made of them.
    pub said: Option<LogNotes>,
}

/// Opens `-f`'s files, or the live etcd if there are none. Audit logs without an etcd are a source themselves.
///
/// # Errors
/// Flags that cannot be used, or a file that cannot be read.
pub(in crate::cli) fn open_source(args: &GlobalArgs, attendance: Attendance) -> Result<Opened> {
    if let Some(opened) = &args.opened {
        let (source, newest_stamp, (logs, said)) = (Box::new(opened.clone()), opened.newest_stamp(), opened.logs());
        return Ok(Opened { source, newest_stamp, logs, said });
    }
    if let Some(context) = args.api_server() {
        let source = Box::new(api_server::open(args, context, attendance)?);
        return Ok(Opened { source, newest_stamp: Some(Timestamp::now()), logs: AuditLogs::default(), said: None });
    }
    let (paths, endpoints) = args.sources();
    let limits = limits(args);
    let WithAuditLogs { logs, others: paths } = AuditLogs::among(&paths, &limits)?;
    let noted = |source: Box<dyn Source>| {
        source.damage().iter().chain(source.left_out()).for_each(|problem| attendance.note_problem(problem));
        source
    };
    if args.names_live_etcd() {
        let mut connection = args.connection.clone();
        connection.endpoints.extend(endpoints.iter().cloned());
        let config = etcd::config(&connection, attendance)?;
        let live = Box::new(EtcdSource::new(config, Arc::new(move |notice: &str| attendance.note(notice)))?);
        if paths.is_empty() {
            return Ok(Opened { source: live, newest_stamp: None, logs, said: None });
        }
        let tell = Arc::new(move |sentence: &str| attendance.note(sentence));
        let source = noted(ketcd_store::load::open_beside(&paths, &limits, endpoints.join(","), live, tell)?);
        return Ok(Opened { source, newest_stamp: None, logs, said: None });
    }
    let files = if paths.is_empty() && !logs.is_empty() { None } else { Some(files::open(&paths, &limits)?) };
    let (source, newest_stamp) = files.map(|files| (noted(files.source), files.newest_stamp)).unzip();
    match source {
        Some(source) if logs.is_empty() || !source.is_one_moment() => {
            Ok(Opened { source, newest_stamp: newest_stamp.flatten(), logs, said: None })
        }
        base => match (open_logs(&logs, base.as_deref())?, base) {
            (Some(LogHistory { source, said }), _) => Ok(Opened { source, newest_stamp: None, logs, said: Some(said) }),
            (None, base) => {
                let source = base.ok_or_else(|| Error::new("the audit logs hold no object"))?;
                Ok(Opened { source, newest_stamp: newest_stamp.flatten(), logs: AuditLogs::default(), said: None })
            }
        },
    }
}

pub(in crate::cli) fn limits(args: &GlobalArgs) -> Limits {
    static STANDARD_INPUT: LazyLock<StandardInput> = LazyLock::new(StandardInput::default);
    let cache = if args.no_cache { None } else { cache() };
    let (progress, standard_input) = (progress::opening(), STANDARD_INPUT.clone());
    Limits { unpacked: args.max_unpacked_size, cache, standard_input, progress, ..Limits::default() }
}

/// Where indexes of large databases are kept.
fn cache() -> Option<Cache> {
    /// Smaller ones are read within a few hundredths of a second.
    const MIN_CACHED_BYTES: u64 = 64 << 20;
    let directory = system::files::cache_folder()?.join("ketcd");
    Some(Cache { directory, smallest: MIN_CACHED_BYTES })
}
