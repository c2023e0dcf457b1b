//! How audit logs begin, in every form that they are exported in.

use memchr::memmem;

/// Columns of tables that hold events as text: of CloudWatch, Azure, Splunk, Grafana and Kibana.
const TEXT_COLUMNS: [&[u8]; 8] = [b"message", b"log_s", b"_raw", b"line", b"Line", b"_source", b"event.original", b"log"];

/// Whether text begins as an audit log does: with events of an API server, or with what a cloud's export makes of them.
pub(super) fn begins_as_audit_log(bytes: &[u8]) -> bool {
    const PROBED_BYTES: usize = 64 << 10;
    let head = &bytes[..bytes.len().min(PROBED_BYTES)];
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    if head.contains(&0) {
        return false;
    }
    let has = |text: &[u8]| memmem::find(head, text).is_some();
    // As an API server writes it, after what a collector puts before each line.
    let has_line = has(br#"{"kind":"Event","apiVersion":"audit.k8s.io/v1"#);
    let first = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    // A policy, or an object that quotes an event, has no stage.
    let is_event = has(b"audit.k8s.io/v1") && has(b"auditID") && has(b"stage");
    match first.trim_ascii_start().first() {
        Some(b'{' | b'[') => {
            is_event
                || is_headed(head)
                || has(b"\"protoPayload\"") && has(b"k8s.io")
                || has(b"\"AuditId\"") && has(b"\"Verb\"")
                || has_bare_event(head)
                || is_quoting_bare_event(head)
        }
        // Exports to a bucket have the time before each event.
        Some(b'0'..=b'9') => is_event && (has_line || first.contains(&b'{')),
        Some(_) => {
            is_table(first)
                || is_event && has_line
                || is_event && TEXT_COLUMNS.iter().any(|column| memmem::find(first, column).is_some())
                || begins_within_a_line(head)
        }
        None => false,
    }
}

/// Whether JSON says that it is an event before its members end: what it sent may be longer than what is looked at.
fn is_headed(head: &[u8]) -> bool {
    let names: [&[u8]; 3] = [b"\"kind\":\"Event\"", b"\"apiVersion\":\"audit.k8s.io/v1", b"\"auditID\""];
    names.iter().all(|name| memmem::find(head, name).is_some())
}

/// Whether a whole line is an event, after the rest of one that was cut.
fn begins_within_a_line(head: &[u8]) -> bool {
    head.split(|&byte| byte == b'\n').skip(1).any(|line| line.starts_with(b"{") && has_bare_event(line))
}

/// Whether a line is the header of a table of events.
fn is_table(header: &[u8]) -> bool {
    let has = |text: &[u8]| memmem::find(header, text).is_some();
    header.contains(&b',') && has(b"AuditId") && has(b"Verb")
}

/// Whether events begin JSON that do not name their version, as the items of an EventList do that a webhook's backend took out of it: an object, in
/// lists and other objects perhaps, has the members that only events have.
fn has_bare_event(head: &[u8]) -> bool {
    const MAX_WRAPPINGS: usize = 10;
    if memmem::find(head, b"\"auditID\"").is_none() {
        return false;
    }
    // For each open object which of the members it has; a list has none.
    let (mut open, mut at): (Vec<[bool; EVENT_MEMBERS.len()]>, usize) = (Vec::new(), 0);
    while let Some(&byte) = head.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => open.push([false; EVENT_MEMBERS.len()]),
            b'}' | b']' => {
                open.pop();
            }
            b'"' => {
                let length = string_length(&head[at..]);
                let name = &head[at..(at + length).min(head.len())];
                at += length + 1;
                let is_name = head.get(at..).is_some_and(|rest| rest.trim_ascii_start().starts_with(b":"));
                let depth = open.len();
                if let (Some(place), Some(members)) = (EVENT_MEMBERS.iter().position(|known| is_name && *known == name), open.last_mut()) {
                    members[place] = true;
                    if depth <= MAX_WRAPPINGS && members.iter().all(|is_there| *is_there) {
                        return true;
                    }
                }
            }
            _ => {}
        }
    }
    false
}

/// Members that each event has; together no other object does (k8s.io/apiserver pkg/apis/audit/v1, `Event`).
const EVENT_MEMBERS: [&[u8]; 4] = [b"auditID", b"stage", b"verb", b"requestURI"];

/// How long a string of JSON is, of which the beginning was read.
fn string_length(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// Whether JSON that is not an object of Kubernetes holds such an event as text.
fn is_quoting_bare_event(head: &[u8]) -> bool {
    let is_quoted = |member: &&[u8]| memmem::find(head, &[b"\\\"", *member, b"\\\""].concat()).is_some();
    EVENT_MEMBERS.iter().all(is_quoted) && memmem::find(head, b"\"apiVersion\"").is_none()
}

/// Says that text is an audit log in YAML, which is not read; `None` if it is not one.
pub(super) fn as_yaml(bytes: &[u8]) -> Option<&'static str> {
    const PROBED_BYTES: usize = 64 << 10;
    let head = &bytes[..bytes.len().min(PROBED_BYTES)];
    if head.trim_ascii_start().first().is_none_or(|first| b"{[".contains(first)) || head.contains(&0) {
        return None;
    }
    let has_member = |member: &[u8]| {
        head.split(|&byte| byte == b'\n').any(|line| {
            let line = line.strip_prefix(b"- ").or_else(|| line.strip_prefix(b"  ")).unwrap_or(line);
            line.strip_prefix(member).is_some_and(|rest| rest.starts_with(b":"))
        })
    };
    if has_member(b"protoPayload") && (memmem::find(head, b"k8s.io").is_some() || memmem::find(head, b"io.k8s.").is_some()) {
        return Some(
            "is Google Cloud's audit log as YAML, which `gcloud logging read` prints by default; read it again with --format=json",
        );
    }
    EVENT_MEMBERS.iter().all(|member| has_member(member)).then_some(
        "is an audit log as YAML, which is not read; give its events as JSON, one a line, as the API server writes them, or convert them: yq -o json -I 0 . FILE",
    )
}

#[cfg(test)]
mod tests {
    use super::{as_yaml, begins_as_audit_log};

    #[test]
    fn events_in_yaml_are_named_with_what_to_do() {
        let google = "insertId: i0\nprotoPayload:\n  methodName: io.k8s.core.v1.configmaps.create\n---\n";
        assert!(as_yaml(google.as_bytes()).unwrap().contains("--format=json"));
        let event = "auditID: a\nkind: Event\nrequestURI: /\nstage: ResponseComplete\nverb: get\n";
        assert!(as_yaml(event.as_bytes()).unwrap().contains("yq"));
        let listed = "apiVersion: audit.k8s.io/v1\nkind: EventList\nitems:\n- auditID: a\n  requestURI: /\n  stage: x\n  verb: get\n";
        assert!(as_yaml(listed.as_bytes()).unwrap().contains("yq"));
        for text in ["", "{\"auditID\": 1}", "apiVersion: v1\nkind: ConfigMap\ndata:\n  auditID: a\n", "protoPayload: x\n"] {
            assert_eq!(as_yaml(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn audit_logs_are_told_from_what_quotes_them() {
        let event = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"a","stage":"ResponseComplete"}"#;
        let quoted = event.replace('"', "\\\"");
        let bare =
            r#"{"annotations":{"a":{}},"auditID":"a","level":"Metadata","requestURI":"/x\"{","stage" : "ResponseComplete","verb":"get"}"#;
        for text in [
            event.to_owned(),
            format!("\u{feff}{{\"kind\":\"EventList\",\"apiVersion\":\"audit.k8s.io/v1\",\"items\":[\n{event}]}}"),
            format!("2026-11-24T18:36:56.000Z {event}\n"),
            format!("Nov 24 18:36:56 host kube-apiserver[7]: {event}\n"),
            format!("2026-11-24 host I1124 started\n2026-11-24 host {event}\n"),
            format!("{{\"events\":[{{\"message\":\"{quoted}\"}}]}}"),
            format!("@timestamp,@message\n2026,\"{}\"\n", event.replace('"', "\"\"")),
            r#"[{"protoPayload":{"serviceName":"k8s.io"}}]"#.to_owned(),
            "TimeGenerated,AuditId,Level,Verb\n".to_owned(),
            format!("quest\"}}\n{bare}\n"),
            format!(
                "{{\"apiVersion\":\"audit.k8s.io/v1\",\"auditID\":\"a\",\"kind\":\"Event\",\"requestObject\":\"{}\"}}",
                "x".repeat(1 << 17)
            ),
            format!("TimeGenerated,Category,log_s\n2026,kube-audit,\"{}\"\n", event.replace('"', "\"\"")),
            r#"[{"AuditId":"a","Verb":"get"}]"#.to_owned(),
            r#"{"tables":[{"columns":[{"name":"AuditId"},{"name":"Verb"}],"rows":[]}]}"#.to_owned(),
            bare.to_owned(),
            format!("[\n{bare}]"),
            format!("{{\"items\":[{bare}]}}"),
            format!("{{\"_source\":{{\"kubernetes\":{{\"audit\":{bare}}}}}}}"),
            format!("{{\"line\":\"{}\"}}", bare.replace('"', "\\\"")),
            format!("{{\"line\":\"{quoted}\"}}"),
            format!("\"_raw\"\n\"{}\"\n", event.replace('"', "\"\"")),
            format!("2026-11-24T18:36:56.1Z stdout F {event}\n"),
        ] {
            assert!(begins_as_audit_log(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: []\n",
            r#"{"apiVersion":"audit.k8s.io/v1","kind":"Policy","rules":[]}"#,
            r#"{"apiVersion":"v1","kind":"List","items":[]}"#,
            "name,value\nid,1\n",
            r#"{"auditID":"a","x":{"stage":"b","verb":"get","requestURI":"/"}}"#,
            r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"{\"auditID\":1,\"stage\":1,\"verb\":1,\"requestURI\":1}"}}"#,
        ] {
            assert!(!begins_as_audit_log(text.as_bytes()), "{text}");
        }
    }
}
