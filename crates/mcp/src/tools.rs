//! The tools: what each is for, and the words of the command line that its arguments become.
//!
//! What a client chose stands behind `--` or in the value of one flag, `--flag=value`; no flag takes a file.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::answers::{Question, Refusal};
use crate::arguments::{
    About, Common, DiffArguments, ExplainArguments, GetArguments, GrepArguments, HistoryArguments, Moment, StatusArguments,
    TimelineArguments, TriageArguments, WhatIfArguments, schema,
};
use crate::{Form, told::quoted};

/// The longest text of an argument.
const MAX_ARGUMENT_BYTES: usize = 4 << 10;
/// The most addresses, or actions, of one call.
const MAX_ADDRESSES: usize = 50;
/// What may be done in a what-if. `apply` is not among them, as it names a file.
const ACTION_VERBS: [&str; 10] = ["add", "cordon", "delete", "drain", "fail", "label", "restart", "scale", "taint", "uncordon"];

/// A tool.
struct ToolRow {
    name: &'static str,
    title: &'static str,
    /// What it answers, and when to use which.
    about: &'static str,
    schema: fn() -> JsonObject,
    read: fn(Value) -> Result<Question, Refusal>,
}

/// The tools, in the order in which an incident asks them.
const TOOLS: [ToolRow; 9] = [
    ToolRow {
        name: "triage",
        title: "What is broken",
        about: "What is broken, since when, why, and which changes before can have caused it; the worst first. Use it first in an incident. \
                With `at`, what was broken then. Then call timeline or history for one of the objects it names, or explain for a pod that is unschedulable.",
        schema: schema::<TriageArguments>,
        read: triage,
    },
    ToolRow {
        name: "timeline",
        title: "What happened, step by step",
        about: "The story of an object with what belongs to it: created, scheduled, ready, rolled out, failed, deleted; who did it and how long each step took. \
                Use it to tell what happened, and in which order; `around` shows everything near a moment. For values of fields use history.",
        schema: schema::<TimelineArguments>,
        read: timeline,
    },
    ToolRow {
        name: "explain",
        title: "Why a pod runs where it runs",
        about: "Why the scheduler put a pod on its node, or found none: each node's reasons by the rules of that release, what would help, \
                and what is not known. Use it for Pending and unschedulable pods, and with `node` for why not there.",
        schema: schema::<ExplainArguments>,
        read: explain,
    },
    ToolRow {
        name: "history",
        title: "Every change of an object",
        about: "Every readable change of objects, oldest first: revision, time, who made it, which fields. With `diff`, old and new values. \
                Use it for who changed what; for the story use timeline, for two moments use diff.",
        schema: schema::<HistoryArguments>,
        read: history,
    },
    ToolRow {
        name: "diff",
        title: "What differs between two moments",
        about: "What differs between two moments, of everything or of some objects, without bookkeeping and heartbeats. \
                Use it when it worked at one time and not at another.",
        schema: schema::<DiffArguments>,
        read: diff,
    },
    ToolRow {
        name: "get",
        title: "Objects as they were",
        about: "Objects at a moment: a table as kubectl prints it, or with `manifest` the whole YAML. Without an address, how many objects of each kind there are. \
                Values of Secrets are masked. Use it to look at one thing; to search use grep.",
        schema: schema::<GetArguments>,
        read: get,
    },
    ToolRow {
        name: "grep",
        title: "Which objects ever held a value",
        about: "Which objects hold or ever held a text (an image, an IP, a node, a name), deleted ones too: from which revision to which, and who set it. \
                Use it when you know a value and not the object.",
        schema: schema::<GrepArguments>,
        read: grep,
    },
    ToolRow {
        name: "what_if",
        title: "What would happen",
        about: "What would happen to the pods if nodes or workloads changed, played with the rules of that release on a copy: nothing is changed. \
                Use it before a drain, a scale or a restart is proposed; `fit` says how many more pods fit.",
        schema: schema::<WhatIfArguments>,
        read: what_if,
    },
    ToolRow {
        name: "status",
        title: "What is read",
        about: "What this server reads: the file or etcd, which revisions and times it has, versions, problems. With `about`: usage (what fills etcd) or verify \
                (is it a good backup). Use it when an answer misses something, or for questions about etcd itself.",
        schema: schema::<StatusArguments>,
        read: status,
    },
];

/// The tools as a client lists them. No output schema: clients then show one form, and pay once.
pub(crate) fn list() -> Vec<Tool> {
    let hints = |title: &str| ToolAnnotations::with_title(title).read_only(true).destructive(false).idempotent(true).open_world(false);
    let tool = |row: &ToolRow| Tool::new(row.name, row.about, (row.schema)()).with_title(row.title).with_annotations(hints(row.title));
    TOOLS.iter().map(tool).collect()
}

/// Reads a call of a tool.
///
/// # Errors
/// The tool does not exist, or its arguments are wrong: what to call instead.
pub fn read_call(name: &str, arguments: JsonObject) -> Result<Question, Refusal> {
    let Some(row) = TOOLS.iter().find(|row| row.name == name) else {
        let names: Vec<&str> = TOOLS.iter().map(|row| row.name).collect();
        return Err(Refusal(format!("there is no tool {}; call one of {}", quoted(name), names.join(", "))));
    };
    let arguments = Value::Object(arguments);
    too_long(&arguments)?;
    (row.read)(arguments).map_err(|Refusal(why)| Refusal(format!("{name}: {why}")))
}

/// Refuses arguments that nobody means.
fn too_long(value: &Value) -> Result<(), Refusal> {
    match value {
        Value::String(text) if text.len() > MAX_ARGUMENT_BYTES => {
            Err(Refusal(format!("an argument has {} bytes; at most {MAX_ARGUMENT_BYTES} are read", text.len())))
        }
        Value::String(text) if text.contains('\0') => Err(Refusal("an argument holds a NUL character; leave it out".to_owned())),
        Value::Array(items) if items.len() > MAX_ADDRESSES => {
            Err(Refusal(format!("an argument has {} items; at most {MAX_ADDRESSES} are read", items.len())))
        }
        Value::Array(items) => items.iter().try_for_each(too_long),
        Value::Object(members) => members.values().try_for_each(too_long),
        _ => Ok(()),
    }
}

fn parse<T: DeserializeOwned>(arguments: Value) -> Result<T, Refusal> {
    serde_json::from_value(arguments).map_err(|error| Refusal(error.to_string()))
}

/// The words of a command, as they come together.
struct Words(Vec<String>);

impl Words {
    fn of(command: &str) -> Self {
        Self(vec![command.to_owned()])
    }

    /// A flag with a value that the client chose.
    fn value(mut self, flag: &str, value: Option<String>) -> Self {
        self.0.extend(value.map(|value| format!("--{flag}={value}")));
        self
    }

    fn moment(self, flag: &str, moment: Option<Moment>) -> Self {
        self.value(flag, moment.map(|moment| moment.0))
    }

    fn switch(mut self, flag: &str, is_set: Option<bool>) -> Self {
        self.0.extend(is_set.unwrap_or_default().then(|| format!("--{flag}")));
        self
    }

    /// Ends the words with what the client named, and makes a question of them.
    fn named(mut self, first: Option<String>, address: Option<&str>, common: Common) -> Result<Question, Refusal> {
        let named: Vec<String> = first.into_iter().chain(address.into_iter().flat_map(str::split_whitespace).map(str::to_owned)).collect();
        if named.len() > MAX_ADDRESSES {
            return Err(Refusal(format!("{} addresses; name at most {MAX_ADDRESSES}, or a kind", named.len())));
        }
        if !named.is_empty() {
            self.0.push("--".to_owned());
            self.0.extend(named);
        }
        let Common { namespace, at, format, skip } = common;
        let at = at.map(|moment| moment.0);
        Ok(Question { words: self.0, namespace, at, span: None, form: format, skip })
    }
}

fn status(arguments: Value) -> Result<Question, Refusal> {
    let mut asked: StatusArguments = parse(arguments)?;
    let command = match asked.about.unwrap_or_default() {
        About::Source => "status",
        About::Usage => "usage",
        About::Verify => "verify",
    };
    Words::of(command).named(None, None, asked.common())
}

fn triage(arguments: Value) -> Result<Question, Refusal> {
    let mut asked: TriageArguments = parse(arguments)?;
    let common = asked.common();
    Words::of("triage").moment("since", asked.since).named(None, asked.address.as_deref(), common)
}

fn timeline(arguments: Value) -> Result<Question, Refusal> {
    let mut asked: TimelineArguments = parse(arguments)?;
    let common = asked.common();
    let words = Words::of("timeline").moment("since", asked.since).moment("around", asked.around);
    words.named(None, asked.address.as_deref(), common)
}

fn explain(arguments: Value) -> Result<Question, Refusal> {
    let mut asked: ExplainArguments = parse(arguments)?;
    let common = asked.common();
    if asked.pod.trim().is_empty() {
        return Err(Refusal("name a pod: pod/namespace/name".to_owned()));
    }
    Words::of("explain").value("node", asked.node).named(None, Some(&asked.pod), common)
}

fn history(arguments: Value) -> Result<Question, Refusal> {
    let mut asked: HistoryArguments = parse(arguments)?;
    let common = asked.common();
    // JSON has the values in any case.
    let diff = asked.diff.filter(|_| common.format == Form::Text);
    let words = Words::of("history").switch("diff", diff).moment("since", asked.since);
    words.named(None, Some(&asked.address), common)
}

fn diff(arguments: Value) -> Result<Question, Refusal> {
    let mut asked: DiffArguments = parse(arguments)?;
    let common = asked.common();
    if common.at.is_some() {
        return Err(Refusal("the two moments are `from` and `to`; leave `at` out".to_owned()));
    }
    let mut read = Words::of("diff").named(None, asked.address.as_deref(), common)?;
    read.span = Some((asked.from.0, asked.to.map(|to| to.0)));
    Ok(read)
}

fn get(arguments: Value) -> Result<Question, Refusal> {
    let mut asked: GetArguments = parse(arguments)?;
    let common = asked.common();
    let Some(address) = asked.address.filter(|address| !address.trim().is_empty()) else {
        return Words::of("ls").named(None, None, common);
    };
    let mut read = Words::of("get").named(None, Some(&address), common)?;
    if asked.manifest.unwrap_or_default() && read.form == Form::Text {
        read.form = Form::Yaml;
    }
    Ok(read)
}

fn grep(arguments: Value) -> Result<Question, Refusal> {
    let mut asked: GrepArguments = parse(arguments)?;
    let common = asked.common();
    if asked.pattern.is_empty() {
        return Err(Refusal("the pattern is empty; give a text to look for, such as an image or an IP".to_owned()));
    }
    let words = Words::of("grep").switch("regexp", asked.regexp).moment("since", asked.since);
    words.named(Some(asked.pattern), asked.address.as_deref(), common)
}

fn what_if(arguments: Value) -> Result<Question, Refusal> {
    let mut asked: WhatIfArguments = parse(arguments)?;
    let common = asked.common();
    let mut words = Words::of("what-if");
    for action in asked.actions.unwrap_or_default() {
        let (verb, value) = read_action(&action)?;
        words = words.value(&verb, Some(value));
    }
    if let Some(fit) = &asked.fit
        && !is_address(fit)
    {
        return Err(Refusal(format!("fit {} is not an address; write kind/namespace/name", quoted(fit))));
    }
    words.value("fit", asked.fit).value("each", asked.each).named(None, None, common)
}

/// Reads `drain node3`.
fn read_action(action: &str) -> Result<(String, String), Refusal> {
    let wrong = |why: &str| Refusal(format!("action {}: {why}", quoted(action)));
    let (verb, value) = action.trim().split_once(char::is_whitespace).ok_or_else(|| wrong("write VERB VALUE, such as `drain node3`"))?;
    let value = value.trim();
    if !ACTION_VERBS.contains(&verb) {
        return Err(wrong(&format!("use one of {}", ACTION_VERBS.join(", "))));
    }
    if verb == "add" && !is_count_of_nodes(value) {
        return Err(wrong("write N*NODE, such as `add 2*node3`, N up to 999999"));
    }
    Ok((verb.to_owned(), value.to_owned()))
}

/// Whether a text is `2*node3` or `node3=2`: anything else would be the name of a file.
fn is_count_of_nodes(text: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    let is_number = |number: &str| (1..=6).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    let counted = text.split_once('*').map(|(number, name)| (name, number)).or_else(|| text.rsplit_once('='));
    counted.is_some_and(|(name, number)| is_name(name.trim()) && is_number(number.trim()))
}

/// Whether a text has the form of an object's address; a path that begins or climbs has not.
fn is_address(text: &str) -> bool {
    let parts: Vec<&str> = text.split('/').collect();
    let is_part = |part: &&str| !part.is_empty() && !part.starts_with(['.', '~', '-']) && !part.contains(char::is_whitespace);
    (2..=3).contains(&parts.len()) && parts.iter().all(is_part)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(name: &str, arguments: Value) -> Result<Vec<String>, String> {
        let Value::Object(arguments) = arguments else { panic!("no object") };
        read_call(name, arguments).map(|asked| asked.words).map_err(|Refusal(why)| why)
    }

    #[test]
    fn arguments_become_words() {
        for (name, arguments, wanted) in [
            ("triage", json!({}), "triage"),
            ("triage", json!({"address": "pods", "since": 600}), "triage --since=600 -- pods"),
            ("timeline", json!({"around": "22:16:50"}), "timeline --around=22:16:50"),
            ("explain", json!({"pod": "pod/lab/a", "node": "n1"}), "explain --node=n1 -- pod/lab/a"),
            ("history", json!({"address": "deploy/web/a po/web/b", "diff": true}), "history --diff -- deploy/web/a po/web/b"),
            ("diff", json!({"from": 600, "to": "800"}), "diff"),
            ("get", json!({}), "ls"),
            ("get", json!({"address": "pods"}), "get -- pods"),
            ("grep", json!({"pattern": "-o raw", "address": "pods"}), "grep -- -o raw pods"),
            ("what_if", json!({"actions": ["drain a", "scale deploy/web/a=3"]}), "what-if --drain=a --scale=deploy/web/a=3"),
            ("what_if", json!({"actions": ["add 2*node3"], "each": "zone"}), "what-if --add=2*node3 --each=zone"),
            ("status", json!({"about": "verify"}), "verify"),
        ] {
            assert_eq!(words(name, arguments).unwrap().join(" "), wanted);
        }
    }

    #[test]
    fn what_a_client_may_not_say_is_refused() {
        for (name, arguments, says) in [
            ("delete", json!({}), "call one of triage, timeline"),
            ("triage", json!({"file": "/etc/passwd"}), "unknown field `file`, expected one of"),
            ("get", json!({"address": "secrets", "show_secrets": true}), "unknown field"),
            ("explain", json!({}), "missing field `pod`"),
            ("explain", json!({"pod": " "}), "name a pod"),
            ("diff", json!({"from": 1, "at": 5}), "leave `at` out"),
            ("grep", json!({"pattern": "a\0"}), "NUL"),
            ("grep", json!({"pattern": "a".repeat(5000)}), "at most"),
            ("what_if", json!({"actions": ["apply /etc/passwd"]}), "use one of add, cordon"),
            ("what_if", json!({"actions": ["add nodes.yaml"]}), "N*NODE"),
            ("what_if", json!({"actions": ["add ../2*x"]}), "N*NODE"),
            ("what_if", json!({"actions": ["drain"]}), "VERB VALUE"),
            ("what_if", json!({"fit": "/etc/passwd"}), "is not an address"),
            ("what_if", json!({"fit": "a/../../b"}), "is not an address"),
            ("status", json!({"about": "files"}), "unknown variant `files`"),
        ] {
            let refused = words(name, arguments).unwrap_err();
            assert!(refused.contains(says), "{name}: {refused}");
        }
    }

    #[test]
    fn tools_are_few_read_only_and_say_when_to_use_them() {
        let tools = list();
        assert!((6..=9).contains(&tools.len()));
        for tool in tools {
            let hints = tool.annotations.unwrap();
            assert_eq!((hints.read_only_hint, hints.idempotent_hint), (Some(true), Some(true)));
            assert_eq!((hints.open_world_hint, hints.destructive_hint), (Some(false), Some(false)));
            assert!(tool.output_schema.is_none() && tool.input_schema["type"] == "object", "{}", tool.name);
            let about = tool.description.unwrap();
            assert!(about.contains("Use it") && about.len() < 500, "{}: {about}", tool.name);
        }
    }
}
