//! Text shaped like a credential, a host or an e-mail address.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::vocabulary::{is_public_domain, is_public_registry};

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|error| unreachable!("{error}"))
}

/// Credentials by their form alone: the whole match goes, or the group `v` where there is one.
static CREDENTIALS: LazyLock<Regex> = LazyLock::new(|| {
    compiled(&[
        // JSON Web Tokens (RFC 7519).
        r"\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]*",
        // PEM (RFC 7468), also with its line ends escaped.
        r"(?s)-----BEGIN [A-Z0-9 ]{2,40}-----.*?(?:-----END [A-Z0-9 ]{2,40}-----|\z)",
        // AWS: ids of keys, roles and users.
        r"\b(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|AIPA)[A-Z0-9]{16}\b",
        // GitHub, GitLab, Slack, Stripe, Google, npm, SendGrid, Hugging Face, Docker Hub, DigitalOcean, Vault, OpenShift, age.
        r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bgl(?:pat|dt|rt)-[A-Za-z0-9_-]{16,}|\bxox[abeprs]-[A-Za-z0-9-]{8,}",
        r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{20,}|\bnpm_[A-Za-z0-9]{30,}|\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
        r"\bhf_[A-Za-z0-9]{30,}|\bdckr_[a-z]+_[A-Za-z0-9_-]{20,}|\bdo[opr]_v1_[a-f0-9]{40,}|\bhv[sbr]\.[A-Za-z0-9_-]{20,}|\bsha256~[A-Za-z0-9_-]{40,}|\bAGE-SECRET-KEY-1[A-Z0-9]{50,}",
        // kubeadm's bootstrap tokens.
        r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b",
    ]
    .join("|"))
});

/// Credentials by what stands before them; the group goes.
static INTRODUCED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        r"(?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/=-]{8,})",
        // The part of an address before the @, with a password: proto://user:password@host, user:password@tcp(host).
        r#"://([^/\s:@"']*:[^/\s@"']+)@"#,
        r#"([^/\s:@"']+:[^\s@"']+)@tcp\("#,
        r#"(?i)\b[\w.-]*(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|account[_-]?key|credential|user[ ]?id|uid)s?["']?=["']?([^\s"'&;,]{3,})"#,
        r#"(?i)["'][\w.-]*(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)["']\s*:\s*["']([^"']{3,})["']"#,
        r#"(?im)^\s*[\w.-]*(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)\s*:\s+["']?([^\s"'#]{3,})"#,
        r#"(?i)\b(?:data source|server|host)=([^\s"';,]{3,})[^\n]*\b(?:uid|user id|pwd|password)="#,
    ]
    .map(compiled)
    .into()
});

/// A part of every form above, to know at once that a text has none of them.
static HINTS: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i)eyJ|-----BEGIN|A[A-Z]{3}[A-Z0-9]{16}|gh[pousr]_|github_pat|gl(?:pat|dt|rt)-|xox|_live_|_test_|AIza|ya29|npm_|SG\.|hf_|dckr_|_v1_|hv[sbr]\.|sha256~|AGE-SECRET|[a-z0-9]{6}\.[a-z0-9]{16}|bearer|basic|@|passw|passphrase|pwd|secret|token|key|credential|user ?id|uid=",
    )
});

static MAIL: LazyLock<Regex> = LazyLock::new(|| compiled(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b"));

/// Hosts: behind a scheme, or with a name of the top level that is not a file's or a field's.
static HOSTS: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i)(?:://(?:[^\s/@]*@)?(?P<url>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?))|\b(?P<name>(?:[a-z0-9_](?:[a-z0-9-]*[a-z0-9])?\.)+(?:com|net|org|io|internal|local|lan|corp|intranet|home|cloud|app|edu|gov|mil|biz|info|de|eu|uk|fr|ch|at|nl|se|no|fi|dk|pl|cz|es|it|pt|ie|us|ca|au|nz|jp|cn|in|kr|sg|br|mx|ru|tr|za|test|example))\b",
    )
});

/// The credentials of a text, in order, without overlaps.
pub(crate) fn credentials(text: &str) -> Vec<Range<usize>> {
    if !HINTS.is_match(text) {
        return Vec::new();
    }
    let alone = CREDENTIALS.find_iter(text).filter(|found| !is_name_of_event(found.as_str())).map(|found| found.range());
    let mut all: Vec<Range<usize>> = alone.collect();
    for pattern in &*INTRODUCED {
        let found = pattern.captures_iter(text).filter_map(|captures| captures.get(1));
        all.extend(found.filter(|found| !is_word_of_text(found.as_str())).map(|found| found.range()));
    }
    apart(all)
}

/// The certificates of a text, in order: they name who they are of.
pub(crate) fn certificates(text: &str) -> Vec<Range<usize>> {
    const BEGINNING: &str = "-----BEGIN CERTIFICATE";
    if !text.contains(BEGINNING) {
        return Vec::new();
    }
    CREDENTIALS.find_iter(text).filter(|found| found.as_str().starts_with(BEGINNING)).map(|found| found.range()).collect()
}

/// A bootstrap token looks like `worker.17a2b3c4d5e6f708`: an Event's name with its time in hexadecimal digits.
fn is_name_of_event(text: &str) -> bool {
    let time = text.split_once('.').filter(|(name, _)| name.len() == 6).map(|(_, time)| time);
    time.is_some_and(|time| time.len() == 16 && time.starts_with('1') && time.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// What follows `basic` or `bearer` in a sentence.
fn is_word_of_text(text: &str) -> bool {
    matches!(text, "authentication" | "authorization" | "validation" | "credentials" | "information" | "configuration")
}

/// The e-mail addresses of a text, in order.
pub(crate) fn mails(text: &str) -> Vec<Range<usize>> {
    if text.contains('@') { MAIL.find_iter(text).map(|found| found.range()).collect() } else { Vec::new() }
}

/// The hosts of a text that are somebody's, in order.
pub(crate) fn hosts(text: &str) -> Vec<Range<usize>> {
    if !text.contains('.') && !text.contains("://") {
        return Vec::new();
    }
    let of = |captures: &regex::Captures<'_>| captures.name("url").or_else(|| captures.name("name")).map(|found| found.range());
    let is_somebodys = |range: &Range<usize>| {
        let host = &text[range.clone()];
        !is_public_domain(&host.to_lowercase()) && !is_public_registry(host) && host.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    HOSTS.captures_iter(text).filter_map(|captures| of(&captures)).filter(is_somebodys).collect()
}

/// Ranges in order; of those that overlap, what they cover together.
fn apart(mut all: Vec<Range<usize>>) -> Vec<Range<usize>> {
    all.sort_by_key(|range| (range.start, range.end));
    let mut apart: Vec<Range<usize>> = Vec::new();
    for range in all {
        match apart.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => apart.push(range),
        }
    }
    apart
}

/// Whether an environment variable of this name usually holds a credential or says whose a database is (the names that troubleshoot
/// `pkg/redact/redact.go` lists).
pub(crate) fn names_credential(name: &str) -> bool {
    const PARTS: [&str; 12] = [
        "password",
        "passwd",
        "passphrase",
        "token",
        "secret",
        "database",
        "user",
        "account",
        "api_key",
        "access_key",
        "private_key",
        "credential",
    ];
    let name = name.to_lowercase().replace('-', "_");
    PARTS.iter().any(|part| name.contains(part)) || name.ends_with("_pwd") || name.ends_with("_dsn")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_credential_is_found() {
        for (text, wanted) in [
            ("x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl y", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"),
            ("id AKIAIOSFODNN7EXAMPLE.", "AKIAIOSFODNN7EXAMPLE"),
            (
                "a -----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY----- b",
                "-----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY-----",
            ),
            ("Authorization: Bearer abcdefgh12345678", "abcdefgh12345678"),
            ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
            ("postgres://joe:hunter2@db.example/x", "joe:hunter2"),
            ("root:hunter2@tcp(db:3306)/x", "root:hunter2"),
            ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
            ("--db-password=hunter2", "hunter2"),
            ("{\"apiKey\": \"hunter2\"}", "hunter2"),
            ("db:\n  password: hunter2\n", "hunter2"),
            ("glpat-abcdefghijklmnopqrst", "glpat-abcdefghijklmnopqrst"),
            ("abcdef.0123456789abcdef", "abcdef.0123456789abcdef"),
        ] {
            let found: Vec<&str> = credentials(text).into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, [wanted], "{text}");
        }
        for text in [
            "secret \"web\" not found",
            "token expired",
            "nginx@sha256",
            "Pulled image in 1.2s",
            "key: value",
            "MountVolume.SetUp failed for volume \"x\" : secret \"y\" not found",
        ] {
            assert!(credentials(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn hosts_and_mails_are_found() {
        let hosts_of = |text: &'static str| hosts(text).into_iter().map(|range| &text[range]).collect::<Vec<&str>>();
        assert_eq!(hosts_of("https://registry.acme.com:5000/v2/"), ["registry.acme.com"]);
        assert_eq!(hosts_of("lookup db.shop.internal on 10.0.0.1"), ["db.shop.internal"]);
        assert_eq!(hosts_of("Pulled quay.io/acme/api and https://docker.io/v2/ from cdn.quay.io"), ["cdn.quay.io"]);
        assert!(hosts_of("apps.openshift.io/v1 node.kubernetes.io/not-ready metadata.name v1.2.3 config.yaml").is_empty());
        let text = "by Jane.Doe@acme.com and x@y";
        assert_eq!(mails(text).into_iter().map(|range| &text[range]).collect::<Vec<&str>>(), ["Jane.Doe@acme.com"]);
        assert!(names_credential("DB_PASSWORD") && names_credential("apiToken") && !names_credential("LOG_LEVEL"));
    }
}
