//! A link of the page, as the view that it opens: the fragment of a URL, which `crates/serve/ui/src/state.ts` writes. Who sends a link chooses its words:
//! what no page writes is refused, never passed on.

use std::fmt;

use jiff::Timestamp;

use ketcd_store::Revision;

use super::view::{Cursor, Panel, RowWords, View};
use crate::visible::visible;

/// Bytes of a link.
const MAX_LINK_BYTES: usize = 16 << 10;
/// What a link says of the page alone: how it looks, what is opened or folded in it, which of an object's lives is meant, and the token of a server.
const OF_THE_PAGE: [&str; 9] = ["title", "theme", "zone", "group", "in", "quiet", "deleted", "uid", "token"];
/// Filters that no flag has.
const WITHOUT_FLAG: [&str; 5] = ["q", "image", "by", "message", "reason"];

/// What a link opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The view.
    pub view: View,
    /// The filters of the link that no command has a flag for, as the page's field has them.
    pub left_out: Vec<String>,
}

/// Why a link is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkRefused(String);

impl fmt::Display for LinkRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LinkRefused {}

type Result<T, E = LinkRefused> = std::result::Result<T, E>;

fn refused<T>(why: impl Into<String>) -> Result<T> {
    Err(LinkRefused(why.into()))
}

impl Link {
    /// Reads a link of `ui`, `serve --ui` or a report, or its fragment alone. Nothing is fetched.
    ///
    /// # Errors
    /// It is something else, says what no page says, or holds what would be a flag of a command.
    pub fn read(url: &str) -> Result<Self> {
        if url.len() > MAX_LINK_BYTES {
            return refused(format!("it has more than {MAX_LINK_BYTES} bytes"));
        }
        let (page, fragment) = url.split_once('#').unwrap_or((url, ""));
        if !page.is_empty() && !["http://", "https://", "file://"].iter().any(|scheme| page.starts_with(scheme)) {
            return refused("it is not the link of a page: that begins with http://, https:// or file://, and the view stands behind #");
        }
        Words::of(fragment)?.link()
    }
}

/// The words of a link, by their names; a name that stands twice has its last value, as in the page.
struct Words(Vec<(String, String)>);

impl Words {
    fn of(fragment: &str) -> Result<Self> {
        let mut words: Vec<(String, String)> = Vec::new();
        for word in fragment.split('&').filter(|word| !word.is_empty()) {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let Some(value) = decoded(value) else { return refused(format!("{:?} cannot be read", visible(word))) };
            if value.chars().any(char::is_control) {
                return refused(format!("the value of {} has control characters", visible(name)));
            }
            words.retain(|(known, _)| known != name);
            words.push((name.to_owned(), value));
        }
        Ok(Self(words))
    }

    /// A value, once; empty ones are none.
    fn take(&mut self, name: &str) -> Option<String> {
        let place = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.remove(place).1).filter(|value| !value.is_empty())
    }

    /// A value that becomes a word of a command.
    fn word(&mut self, name: &str) -> Result<Option<String>> {
        match self.take(name) {
            Some(value) if value.starts_with('-') => refused(format!("{name}: {:?} looks like a flag", visible(&value))),
            value => Ok(value),
        }
    }

    /// A moment.
    fn cursor(&mut self, name: &str) -> Result<Cursor> {
        let Some(text) = self.take(name) else { return Ok(Cursor::Unset) };
        let digits = text.strip_prefix('r').unwrap_or(&text);
        if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            if let Some(revision) = digits.parse::<i64>().ok().filter(|revision| *revision > 0) {
                return Ok(Cursor::At(revision));
            }
        } else if let Ok(time) = text.parse::<Timestamp>() {
            return Ok(Cursor::Time(time));
        }
        refused(format!("{name}: {:?} is neither a revision nor a time", visible(&text)))
    }

    /// One of a few words, by its place; the first where the link does not say.
    fn one_of(&mut self, name: &str, all: &[&str]) -> Result<usize> {
        let Some(word) = self.take(name) else { return Ok(0) };
        match all.iter().position(|known| *known == word) {
            Some(place) => Ok(place),
            None => refused(format!("{name}: {:?} is none of {}", visible(&word), all.join(", "))),
        }
    }

    fn link(mut self) -> Result<Link> {
        let (object, at) = (self.word("object")?, self.cursor("at")?);
        let is_changed = self.one_of("view", &["rows", "changed"])? == 1;
        let tab = self.one_of("tab", &TABS)?;
        let ends = (self.cursor("a")?, self.cursor("b")?);
        let (from, to) = (self.cursor("from")?, self.cursor("to")?);
        let (finding, pick) = (self.take("finding"), self.word("pick")?);
        let Filters { only, revision, left_out } = self.filters()?;
        for name in OF_THE_PAGE {
            self.take(name);
        }
        if let Some((name, _)) = self.0.first() {
            return refused(format!("it says {:?}, which no link of this ketcd says", visible(name)));
        }
        let is_whole =
            from == Cursor::Unset && to == Cursor::Unset && only == RowWords::default() && revision.is_none() && left_out.is_empty();
        let view = match (object, revision) {
            // An object and what is wrong are shown whole.
            (Some(address), _) => return Ok(Link { view: View::Object(address, panel(tab, at, ends, pick)), left_out: Vec::new() }),
            _ if is_changed => View::Changed(ends.0.or(from), ends.1.or(to), only.namespace),
            _ if is_whole || finding.is_some() => return Ok(Link { view: View::Findings(at), left_out: Vec::new() }),
            (None, Some(revision)) => View::Rows(revision.before().into(), revision.into(), only),
            (None, None) => View::Rows(from, to, only),
        };
        Ok(Link { view, left_out })
    }

    fn filters(&mut self) -> Result<Filters> {
        let kinds: Vec<String> = self.word("kind")?.iter().flat_map(|kinds| kinds.split(',')).map(str::to_lowercase).collect();
        let is_kind = |kind: &&String| {
            kind.starts_with(|c: char| c.is_ascii_alphanumeric()) && kind.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.')
        };
        if let Some(other) = kinds.iter().find(|kind| !is_kind(kind)) {
            return refused(format!("kind: {:?} is not a kind", visible(other)));
        }
        let revision = match self.cursor("revision")? {
            Cursor::At(revision) => Some(Revision(revision)),
            Cursor::Unset => None,
            Cursor::Time(_) => return refused("revision: a time is not a revision"),
        };
        let (namespace, node) = (self.word("namespace")?, self.word("node")?);
        let mut left_out: Vec<String> = Vec::new();
        let mut leave = |name: &str, value: String| left_out.push(if name == "q" { value } else { format!("{name}:{value}") });
        for name in WITHOUT_FLAG {
            self.take(name).into_iter().for_each(|value| leave(name, value));
        }
        // A flag takes one namespace, and only pods have a node.
        let namespace = match namespace {
            Some(several) if several.contains(',') => {
                leave("namespace", several);
                None
            }
            one => one,
        };
        let node = match node {
            Some(node) if kinds != ["pod"] => {
                leave("node", node);
                None
            }
            node => node,
        };
        Ok(Filters { only: RowWords { kinds, namespace, label: self.word("label")?, node }, revision, left_out })
    }
}

/// The filters of a link.
struct Filters {
    /// Those that flags have.
    only: RowWords,
    /// The revision whose changes alone are shown.
    revision: Option<Revision>,
    /// The others.
    left_out: Vec<String>,
}

/// The tabs of the panel; the first is open where a link says nothing.
const TABS: [&str; 7] = ["timeline", "yaml", "diff", "events", "related", "decision", "node"];

fn panel(tab: usize, at: Cursor, ends: (Cursor, Cursor), pick: Option<String>) -> Panel {
    match TABS[tab] {
        "yaml" => Panel::Yaml(at),
        // The page takes the version before for the first end, which only the history knows: that shows what each change changed.
        "diff" if ends.0 == Cursor::Unset => Panel::Changes(ends.1.or(at)),
        "diff" => Panel::Diff(ends.0, ends.1.or(at)),
        "events" => Panel::Events(at),
        "related" => Panel::Related(at),
        "decision" => Panel::Decision(at, pick),
        "node" => Panel::Node(at),
        _ => Panel::Timeline(at),
    }
}

/// A value of a fragment, with what `%` stands for; `None` where it is not text.
fn decoded(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(fragment: &str) -> String {
        let Link { view, left_out } =
            Link::read(&format!("http://127.0.0.1:1/ui/#{fragment}")).unwrap_or_else(|error| panic!("{fragment}: {error}"));
        let words = [vec![view.name().to_owned()], view.arguments()].concat().join(" ");
        if left_out.is_empty() { words } else { format!("{words} [{}]", left_out.join(" ")) }
    }

    #[test]
    fn each_view_has_its_command() {
        for (fragment, expected) in [
            ("", "triage"),
            (
                "token=00&at=r812&zone=local&theme=dark&title=A%20title&quiet=true&deleted=false&group=node&in=ns:web,-nodes",
                "triage --rev 812",
            ),
            ("at=2026-11-20T22:16:50.123Z", "triage --at 2026-11-20T22:16:50.123Z"),
            ("finding=f1&from=2026-11-20T22:16:00Z&to=2026-11-20T22:17:00Z", "triage"),
            ("from=2026-11-20T22:16:00Z&to=2026-11-20T22:17:00Z", "timeline -A --since 2026-11-20T22:16:00Z --until 2026-11-20T22:17:00Z"),
            ("kind=Pod,Node&namespace=web&label=app%3Dweb,tier!%3Ddb", "timeline pod node -n web -l app=web,tier!=db"),
            ("kind=Pod&node=n3&q=crash&message=back-off", "timeline pod -A --field-selector spec.nodeName=n3 [crash message:back-off]"),
            ("namespace=a,b&node=n3&revision=r812", "timeline -A --since 811 --until 812 [namespace:a,b node:n3]"),
            ("view=changed", "diff --rev .."),
            ("view=changed&a=r600&b=r800&namespace=web&by=jane", "diff --rev 600..800 -n web [by:jane]"),
            ("view=changed&from=2026-11-20T22:16:00Z&to=2026-11-20T22:17:00Z", "diff --rev 2026-11-20T22:16:00Z..2026-11-20T22:17:00Z"),
            ("object=pod/web/a&uid=u&at=r5&kind=Pod&q=a", "timeline pod/web/a --until 5"),
            ("object=pod/web/a&tab=yaml&at=5", "blame pod/web/a --rev 5"),
            ("object=pod/web/a&tab=diff&a=r3&at=r5", "diff pod/web/a --rev 3..5"),
            ("object=pod/web/a&tab=diff&a=r3", "diff pod/web/a --rev 3.."),
            ("object=pod/web/a&tab=diff&at=r5", "history pod/web/a --diff --until 5"),
            ("object=pod/web/a&tab=events", "events pod/web/a"),
            ("object=pod/web/a&tab=related&at=r5", "tree pod/web/a --rev 5"),
            ("object=pod/web/a&tab=decision&at=r5&pick=n%201", "explain pod/web/a --rev 5 --node n 1"),
            ("object=crontab.stable.example.com/ns/a%252Fb&tab=node", "describe crontab.stable.example.com/ns/a%2Fb"),
        ] {
            assert_eq!(line(fragment), expected, "{fragment}");
        }
    }

    #[test]
    fn only_the_fragment_of_a_page_is_read() {
        for url in
            ["", "#", "#token=ab", "https://h:1/ui/", "file:///tmp/incident.html#at=", "http://h/ui/#&&", "http://h/ui/#token=ab&title=x"]
        {
            assert_eq!(Link::read(url).map(|link| link.view), Ok(View::Findings(Cursor::Unset)), "{url}");
        }
    }

    #[test]
    fn what_no_page_writes_is_refused() {
        for url in [
            "javascript:alert(1)#at=r5",
            "ftp://h/#at=r5",
            "--out=x",
            "#object=--out%3D/etc/passwd",
            "#object=-f",
            "#object=pod%0Aa",
            "#object=pod/a%1b[2J",
            "#object=pod/%ff",
            "#object=pod/%4",
            "#object=pod/a&pick=--all",
            "#kind=--out",
            "#kind=Pod,--out",
            "#kind=,Pod",
            "#kind=pod/web/a",
            "#namespace=-A",
            "#label=--show-secrets",
            "#kind=Pod&node=-x",
            "#at=yesterday",
            "#at=r",
            "#at=r0",
            "#at=r99999999999999999999",
            "#at=-5",
            "#from=10m",
            "#revision=2026-11-20T22:16:00Z",
            "#view=toString",
            "#tab=__proto__&object=a",
            "#show-secrets=true",
            "#=x",
            "#f=/etc/passwd",
        ] {
            let refusal = Link::read(url).expect_err(url).to_string();
            assert!(!refusal.chars().any(char::is_control), "{url}: {refusal}");
        }
        assert!(Link::read(&format!("#title={}", "a".repeat(MAX_LINK_BYTES))).is_err());
    }
}
