//! Asks the source of an unfinished command line, and waits no longer than a person would for a word.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;

use super::shells::is_plain_name;
use crate::cli::connection::runtime::block_on;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::outcome::Result;
use crate::cli::session::Session;
use ketcd_kube::go_duration::parse_go_duration;
use ketcd_store::{KeyRange, Want};

/// How long completion of a word may take in all, unless [`TIMEOUT_VARIABLE`] says otherwise.
const COMPLETION_TIMEOUT: Duration = Duration::from_millis(500);
/// The variable for those whose source takes longer.
const TIMEOUT_VARIABLE: &str = "KETCD_COMPLETION_TIMEOUT";

/// When the shell gets its answer.
#[derive(Clone, Copy)]
pub(super) struct Deadline(Instant);

impl Deadline {
    /// As long after now as a word is waited for.
    pub(super) fn new() -> Self {
        Self::after(patience(std::env::var(TIMEOUT_VARIABLE).ok().as_deref()))
    }

    fn after(patience: Duration) -> Self {
        Self(Instant::now() + patience)
    }

    /// Waits until the other end is dropped, or the deadline.
    fn wait(self, done: &Receiver<Infallible>) {
        let _ = done.recv_timeout(self.0.saturating_duration_since(Instant::now()));
    }
}

/// How long a word is waited for where the variable has this value.
fn patience(variable: Option<&str>) -> Duration {
    let nanos = variable.and_then(|text| parse_go_duration(text).ok());
    nanos.and_then(|nanos| u64::try_from(nanos).ok()).map_or(COMPLETION_TIMEOUT, Duration::from_nanos)
}

/// What was found so far.
#[derive(Clone, Default)]
pub(super) struct Found(Arc<Mutex<BTreeSet<String>>>);

impl Found {
    /// Adds words; those that a shell might not take for themselves are left out.
    pub(super) fn extend(&self, words: impl IntoIterator<Item = String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(words.into_iter().filter(|word| is_plain_name(word)));
    }

    fn take(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds the names of the objects of some kinds, `kinds` joined by commas, each behind `before`; in all namespaces with the namespace.
    ///
    /// # Errors
    /// The source cannot be read, or a kind is not known.
    pub(super) async fn names(&self, session: &Session, kinds: &str, before: &str) -> Result<()> {
        let prefix = session.cluster.prefix().await?;
        for address in session.cluster.address(kinds).await? {
            let (below, _) = address.key(prefix);
            let mut entries = session.cluster.range(KeyRange::prefix(below.as_str()), Want::Keys).await?.entries;
            while let Some(entry) = entries.try_next().await? {
                // The name itself must not begin as a flag does, whatever stands before it.
                let name = entry.key.strip_prefix(below.as_bytes()).and_then(|name| std::str::from_utf8(name).ok());
                self.extend(name.filter(|name| is_plain_name(name)).map(|name| format!("{before}{name}")));
            }
        }
        Ok(())
    }
}

/// Runs `work` on the source that the flags name, in silence, and returns what was found by the deadline; what goes wrong finds nothing.
/// The work that is not done then ends with the process.
pub(super) fn ask<W>(flags: Option<GlobalArgs>, deadline: Deadline, work: W) -> BTreeSet<String>
where
    W: AsyncFnOnce(&Session, &Found) -> Result<()> + Send + 'static,
{
    found_until(flags, |_, done| deadline.wait(done), work)
}

/// Begins the work and returns what it has found when `wait` ends. That gets what is found so far, and what is closed when the work is done.
fn found_until<W>(flags: Option<GlobalArgs>, wait: impl FnOnce(&Found, &Receiver<Infallible>), work: W) -> BTreeSet<String>
where
    W: AsyncFnOnce(&Session, &Found) -> Result<()> + Send + 'static,
{
    // Standard input is the shell's, and a pipe can be read only once.
    let is_stored = |file: &String| Path::new(file).metadata().is_ok_and(|file| file.is_file() || file.is_dir());
    let Some(mut flags) = flags.filter(|flags| flags.files.iter().all(is_stored)) else { return BTreeSet::new() };
    // Names at a time would need the clock, which reads far more than names.
    flags.at = None;
    let found = Found::default();
    let (working, done) = mpsc::channel();
    let finding = found.clone();
    thread::spawn(move || {
        let _working = working;
        let _ = block_on(async { work(&Session::open_unattended(&flags).await?, &finding).await });
    });
    wait(&found, &done);
    found.take()
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;
    use futures_util::stream::StreamExt;
    use ketcd_testing::fake_etcd::{FakeEtcd, RangeRequest, Store, one};
    use ketcd_testing::wait::until;
    use prost::Message;

    use super::*;

    /// How many pods there are; more than two pages hold.
    const POD_COUNT: usize = 1500;

    /// An etcd that answers until it is asked for a page after the second.
    fn stalling() -> FakeEtcd {
        let store = Store::new((0..POD_COUNT).map(|number| (format!("/registry/pods/lab/web-{number:05}"), b"{}".to_vec())));
        let second = "/registry/pods/lab/web-00300";
        FakeEtcd::start(move |call| match call.method.as_str() {
            "Range" => {
                let asked = RangeRequest::decode(&call.request[..]).unwrap();
                let is_late = asked.limit > 0 && asked.revision > 0 && asked.key.as_slice() > second.as_bytes();
                if is_late { futures_util::stream::pending().boxed() } else { one(&store.range(&asked)) }
            }
            _ => one(&store.status()),
        })
    }

    fn flags(etcd: &FakeEtcd) -> GlobalArgs {
        let words = ["ketcd", "--endpoints", &etcd.endpoint, "--prefix", "/registry", "-n", "lab", "get", "pods"];
        GlobalArgs::from_arg_matches(&crate::cli::command().get_matches_from(words)).unwrap()
    }

    #[test]
    fn a_word_is_waited_for_half_a_second_or_as_long_as_the_variable_says() {
        let half_a_second = Duration::from_millis(500);
        for (variable, waits) in
            [(None, half_a_second), (Some("2s"), Duration::from_secs(2)), (Some("-1s"), half_a_second), (Some("soon"), half_a_second)]
        {
            assert_eq!(patience(variable), waits, "{variable:?}");
        }
    }

    #[test]
    fn what_came_by_the_deadline_is_offered() {
        let etcd = stalling();
        let some_came = |found: &Found, _: &Receiver<Infallible>| until(|| (found.0.lock().unwrap().len() >= 200).then_some(()));
        let found = found_until(Some(flags(&etcd)), some_came, async |session, found| found.names(session, "pods", "").await);
        assert!(found.len() >= 200 && found.len() < POD_COUNT, "{}", found.len());
        assert!(found.contains("web-00000"), "{found:?}");
    }

    #[test]
    fn nobody_waits_beyond_the_deadline() {
        let (_work, done) = mpsc::channel();
        Deadline::after(Duration::ZERO).wait(&done);
    }

    #[test]
    fn work_that_is_done_is_not_waited_for() {
        let etcd = stalling();
        let found = ask(Some(flags(&etcd)), Deadline::after(Duration::from_secs(u32::MAX.into())), async |_, found| {
            found.extend(["all".to_owned()]);
            Ok(())
        });
        assert_eq!(found, BTreeSet::from(["all".to_owned()]));
    }
}
