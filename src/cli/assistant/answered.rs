//! A question answered: its words are parsed as those of a command line, and what the command prints is kept. What is read, and how, is of the flags that
//! the server was started with: flags of every command in a question are not looked at.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ketcd_cluster::Cluster;
use ketcd_cluster::rights::Question as Reads;
use ketcd_history::clock::Bound;
use ketcd_mcp::{Answer, Answers, Form, Question, Refusal};
use ketcd_store::{At, Revision};

use super::ahead::{self, Ahead};
use super::extent;
use super::kept::{self, KeptAnswers};
use crate::cli::connection::runtime::block_on;
use crate::cli::input::global_flags::GlobalArgs;
use crate::cli::input::history_window::Ends;
use crate::cli::outcome::{Error, Result};
use crate::cli::output::{Output, messages};
use crate::cli::session::Session;
use crate::cli::session::command::Run;

/// So much of what a command prints is kept of text at first: some eighty pages.
const FEW_BYTES: usize = 2 << 20;
/// So much is kept of JSON, of which a part is of no use to what it is cut from, and of text where a client has read so far.
const MAX_KEPT_BYTES: usize = 16 << 20;
/// No page has as many lines or objects.
const PAGE: usize = 2_000;

/// Parses the words of a command: what runs, or what is wrong.
type Parser = fn(&[String]) -> clap::error::Result<Box<dyn Run>>;

/// What parses questions, once it is known.
static QUESTION_PARSER: OnceLock<Parser> = OnceLock::new();

/// Says what parses questions. Called before anything is asked.
pub(in crate::cli) fn are_parsed_by(parser: Parser) {
    let _ = QUESTION_PARSER.set(parser);
}

/// A cluster that assistants ask. One question is answered at a time.
#[derive(Clone)]
pub(super) struct Assistant(Arc<State>);

struct State {
    /// The flags, with the source that is open.
    global: GlobalArgs,
    /// The newest revision that may be seen, where the server was started with one.
    limit: Option<Revision>,
    /// Answers that stay true. Held by the question at hand, for which messages are held.
    turn: Mutex<KeptAnswers>,
    /// What is worked out before it is asked, where answers stay true.
    ahead: Option<Ahead>,
}

impl Assistant {
    /// Looks at the cluster once: what cannot be read is an error now.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(super) async fn begin(global: GlobalArgs) -> Result<Self> {
        let is_fixed = global.rev.is_some() || global.at.is_some();
        let session = opened(&global).await?;
        let limit = if is_fixed { Some(session.cluster.revision().await?) } else { None };
        // Files are read as they were when they were opened.
        let stays = !session.cluster.source.is_shared() && global.api_server().is_none();
        let ahead = stays.then(|| Ahead::new(&global, ahead::MIN_KEYS)).flatten();
        Ok(Self(Arc::new(State { global, limit, turn: Mutex::new(KeptAnswers::new(stays)), ahead })))
    }

    /// Begins with the question that comes first, if that is worth it and nothing else is asked. Must be called on a tokio runtime.
    pub(super) fn work_ahead(&self) {
        let state = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || state.work_ahead());
    }

    /// Gives up what nobody has asked for: the server ends.
    pub(super) fn end(&self) {
        self.0.ahead.iter().for_each(Ahead::give_up);
    }
}

impl Answers for Assistant {
    async fn ask(&self, question: Question) -> Result<Answer, Refusal> {
        let state = Arc::clone(&self.0);
        let answered = tokio::task::spawn_blocking(move || state.answer(&question)).await;
        // What panicked is said on standard error, by the program's hook.
        answered.unwrap_or_else(|_| Err(Refusal("ketcd panicked: this is a bug in ketcd; ask something else".to_owned())))
    }
}

impl State {
    /// Answers a question on this thread, which belongs to the runtime of the source.
    fn answer(&self, question: &Question) -> Result<Answer, Refusal> {
        self.ahead.iter().for_each(|ahead| ahead.make_way(question));
        let mut kept = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = kept.find(question) {
            return Ok(answer);
        }
        let (answered, notes) = noted(|| self.answered(&self.global, question));
        match answered {
            Ok((answer, reach)) => {
                let answer = Answer { notes, ..answer };
                kept.keep(question, &answer, reach);
                Ok(answer)
            }
            Err(error) => {
                let commands = error.commands_to_copy().iter().cloned();
                let lines: Vec<String> = std::iter::once(error.to_string()).chain(commands).chain(notes).collect();
                Err(Refusal(lines.join("\n")))
            }
        }
    }

    /// Answers what is asked first, and keeps that. An error is left to the client that asks.
    fn work_ahead(&self) {
        let Some(ahead) = &self.ahead else { return };
        let mut kept = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.find(&ahead.question).is_some() {
            return;
        }
        let (found, notes) = noted(|| self.found_ahead(ahead));
        if let Ok(Some((answer, reach))) = found
            && !ahead.is_given_up()
        {
            kept.keep(&ahead.question, &Answer { notes, ..answer }, reach);
        }
    }

    fn found_ahead(&self, ahead: &Ahead) -> Result<Option<(Answer, usize)>> {
        match block_on(ahead.is_wanted())? {
            true => self.answered(&ahead.global, &ahead.question).map(Some),
            false => Ok(None),
        }
    }

    /// Answers a question, and says up to which line or item the answer has what comes next.
    fn answered(&self, flags: &GlobalArgs, question: &Question) -> Result<(Answer, usize)> {
        let limit = kept::limit(question, PAGE);
        let command = self.command(question, limit)?;
        let (global, moment) = block_on(self.at_moment(flags, question))?;
        if extent::is_counted(question) {
            block_on(async { extent::check(&opened(&global).await?.cluster, question, extent::LIMITS).await })?;
        }
        let answer = |room| -> Result<Answer> {
            let (mut out, written) = Output::in_memory(room);
            out.set_content(global.format()?.content());
            let ran = command.run(&global, &mut out);
            let ended = out.end();
            let (bytes, is_cut) = written.take();
            // What had no room was refused as a closed pipe refuses it.
            if !is_cut {
                ran.and_then(|outcome| ended.map(|()| outcome).map_err(Error::from))?;
            }
            Ok(Answer { text: String::from_utf8_lossy(&bytes).into_owned(), moment: moment.clone(), is_cut, ..Answer::default() })
        };
        let few = if question.form == Form::Json { MAX_KEPT_BYTES } else { FEW_BYTES };
        let mut found = answer(few)?;
        let lines = |found: &Answer| found.text.lines().count();
        let mut reach = if found.is_cut && few < MAX_KEPT_BYTES { lines(&found).saturating_sub(PAGE) } else { usize::MAX };
        if question.skip > reach {
            // What was said about the first part is said again.
            messages::taken();
            messages::hold();
            (found, reach) = (answer(MAX_KEPT_BYTES)?, usize::MAX);
        }
        if let Some(limit) = limit.filter(|limit| found.is_cut || lines(&found) >= *limit) {
            let objects = block_on(async { extent::objects(&opened(&global).await?.cluster, question).await })?;
            found.objects = Some(objects).filter(|objects| found.is_cut || usize::try_from(*objects).is_ok_and(|objects| objects > limit));
            reach = reach.min(limit - PAGE);
        }
        Ok((found, reach))
    }

    /// Parses the words of a question.
    fn command(&self, question: &Question, limit: Option<usize>) -> Result<Box<dyn Run>> {
        let is_file = |word: &String| word.strip_prefix("--fit=").is_some_and(|value| Path::new(value).is_file());
        if question.words.iter().any(is_file) {
            return Err(Error::new("fit takes the address of an object").hint("write kind/namespace/name"));
        }
        let parser = QUESTION_PARSER.get().ok_or_else(|| Error::new("no command is known"))?;
        let mut words = question.words.clone();
        if let Some(limit) = limit {
            words.insert(1, format!("--limit={limit}"));
        }
        parser(&words).map_err(|error| {
            // The rest is how the command line is used.
            let text = error.render().to_string();
            let said: Vec<&str> =
                text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:")).filter(|line| !line.is_empty()).collect();
            Error::new(said.join(" ").trim_start_matches("error: ").to_owned())
        })
    }

    /// The server's flags as a question has them, and the moment it looks at in words.
    async fn at_moment(&self, flags: &GlobalArgs, question: &Question) -> Result<(GlobalArgs, String)> {
        let mut global = GlobalArgs {
            namespace: question.namespace.clone().or_else(|| flags.namespace.clone()),
            output: match question.form {
                Form::Text => None,
                Form::Json => Some("json".to_owned()),
                Form::Yaml => Some("yaml".to_owned()),
            },
            ..flags.clone()
        };
        global.all_namespaces = global.namespace.is_none();
        let session = opened(flags).await?;
        let cluster = &session.cluster;
        if let Some((from, to)) = &question.span {
            let from = self.revision(cluster, from).await?;
            let to = match to {
                Some(to) => self.revision(cluster, to).await?,
                None => cluster.revision().await?,
            };
            let moment = format!("{} and {}", words_of(cluster, At::Revision(from)).await?, words_of(cluster, At::Revision(to)).await?);
            global.rev = Some(format!("{from}..{to}"));
            global.at = None;
            return Ok((global, moment));
        }
        let at = match &question.at {
            Some(text) => {
                let revision = self.revision(cluster, text).await?;
                (global.rev, global.at) = (Some(revision.to_string()), None);
                At::Revision(revision)
            }
            None => cluster.at,
        };
        Ok((global, words_of(cluster, at).await?))
    }

    /// The revision of a moment that a client named.
    ///
    /// # Errors
    /// It is none, or later than the moment that the server was started with.
    async fn revision(&self, cluster: &Cluster, text: &str) -> Result<Revision> {
        let bound: Bound = text.parse().map_err(|error| Error::new(format!("{text:?} is not a moment: {error}")))?;
        let revision = cluster.end_of(bound).await?.revision;
        match self.limit {
            Some(limit) if revision > limit => Err(Error::new(format!("this server shows nothing later than revision {limit}"))
                .hint("ask for an earlier moment, or leave it out")),
            _ => Ok(revision),
        }
    }
}

/// Does some work with its messages held; returns them, each once: the cluster is opened for the moment, for the extent and for the answer.
fn noted<T>(work: impl FnOnce() -> T) -> (T, Vec<String>) {
    messages::hold();
    let done = work();
    let mut notes = Vec::new();
    for message in messages::taken() {
        let note = message.strip_prefix("ketcd: ").unwrap_or(&message).to_owned();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    (done, notes)
}

/// Opens the cluster as the server was started.
async fn opened(global: &GlobalArgs) -> Result<Session> {
    Session::new(global, &Ends::default(), true)?.begun(&Reads::Status.reads()).await
}

/// A moment with its revision and its time, as far as they are known.
async fn words_of(cluster: &Cluster, at: At) -> Result<String> {
    let time = cluster.moment_of(at).await.ok().flatten().map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    let revision = match at {
        At::Newest => cluster.revision().await?,
        At::Revision(revision) => revision,
    };
    Ok(match (revision.0, time) {
        (0, Some(time)) => time,
        (0, None) => String::new(),
        (_, Some(time)) => format!("revision {revision}, {time}"),
        (_, None) => format!("revision {revision}"),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::sync::Once;
    use std::thread;

    use clap::FromArgMatches as _;
    use ketcd_cluster::files;
    use ketcd_store::load::{AuditLogs, Limits};
    use ketcd_store::{KeyRange, Shortcuts as _};
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::input::opened::OpenedSource;
    use crate::cli::outcome::Outcome;

    /// A command that counts keys, and where one of them is that of `waits`, goes on until it is ended.
    struct Counting(String);

    impl Run for Counting {
        fn run(&self, global: &GlobalArgs, out: &mut Output) -> Result<Outcome> {
            let source = global.opened.clone().unwrap();
            let count = |keys| block_on(async { source.count(keys, At::Newest).await.map_err(Error::from) });
            while self.0 == "triage" && count(KeyRange::prefix(b"/registry/pods/waits/".to_vec()))? > 0 {}
            writeln!(out, "{}: {} keys", self.0, count(KeyRange::all())?)?;
            Ok(Outcome::Found)
        }
    }

    /// A server of three pods in this namespace, that works ahead from so many keys on.
    fn state(namespace: &str, min_keys: u64) -> State {
        static PARSER: Once = Once::new();
        PARSER.call_once(|| are_parsed_by(|words| Ok(Box::new(Counting(words[0].clone())))));
        let pod = |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}});
        let items: Vec<Value> = ["a", "b", "c"].map(pod).into();
        let file = tempfile::NamedTempFile::with_suffix(".json").unwrap();
        std::fs::write(file.path(), json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()).unwrap();
        let path = file.path().display().to_string();
        let opened = files::open(std::slice::from_ref(&path), &Limits::default()).unwrap();
        let words = ["ketcd", "-f", &path, "status"];
        let mut global = GlobalArgs::from_arg_matches(&crate::cli::command().get_matches_from(words)).unwrap();
        global.opened = Some(OpenedSource::new(opened.source, opened.newest_stamp, (AuditLogs::default(), None)));
        let ahead = Ahead::new(&global, min_keys);
        State { global, limit: None, turn: Mutex::new(KeptAnswers::new(true)), ahead }
    }

    fn asked(command: &str) -> Question {
        Question { words: vec![command.to_owned()], ..Question::default() }
    }

    fn kept(state: &State) -> Option<Answer> {
        state.turn.lock().unwrap().find(&asked("triage"))
    }

    #[test]
    fn the_first_question_of_a_large_cluster_is_answered_before_it_is_asked() {
        let (large, small) = (state("shop", 3), state("shop", 4));
        [&large, &small].iter().for_each(|state| state.work_ahead());
        let found = kept(&large).unwrap();
        assert_eq!((found.text.as_str(), kept(&small)), ("triage: 3 keys\n", None));
        // As it is answered without.
        assert_eq!(small.answer(&asked("triage")).unwrap(), found);
        // What was asked before is not worked out again.
        large.work_ahead();
        assert_eq!(large.turn.lock().unwrap().len(), 1);
    }

    #[test]
    fn no_other_question_waits_for_it() {
        // Whichever comes first: the one that is worked out ahead ends, and is not kept.
        let waits = state("waits", 0);
        thread::scope(|scope| {
            scope.spawn(|| waits.work_ahead());
            assert_eq!(waits.answer(&asked("status")).unwrap().text, "status: 3 keys\n");
        });
        assert_eq!(kept(&waits), None);
        // Nor does the end of the server.
        let waits = Assistant(Arc::new(state("waits", 0)));
        thread::scope(|scope| {
            scope.spawn(|| waits.0.work_ahead());
            waits.end();
        });
        assert_eq!(kept(&waits.0), None);
    }
}
