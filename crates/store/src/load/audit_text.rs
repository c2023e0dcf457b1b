//! How audit logs begin, in every form that they are exported in.

/// Whether text begins as an audit log does: with events of an API server, or with what a cloud's export makes of them.
pub(super) fn begins_as_audit_log(bytes: &[u8]) -> bool {
    const HEAD: usize = 64 << 10;
    let head = &bytes[..bytes.len().min(HEAD)];
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    if head.contains(&0) {
        return false;
    }
    let has = |text: &[u8]| memchr::memmem::find(head, text).is_some();
    // As an API server writes it, after what a collector puts before each line.
    let has_line = has(br#"{"kind":"Event","apiVersion":"audit.k8s.io/v1"#);
    let first = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    // A policy, or an object that quotes an event, has no stage.
    let is_event = (has(b"audit.k8s.io/v1")) && has(b"auditID") && has(b"stage");
    match first.trim_ascii_start().first() {
        Some(b'{' | b'[') => is_event || has(b"\"protoPayload\"") && has(b"k8s.io") || has(b"\"AuditId\"") && has(b"\"Verb\""),
        // Exports to a bucket have the time before each event.
        Some(b'0'..=b'9') => is_event && (has_line || first.contains(&b'{')),
        Some(_) => {
            is_table(first)
                || is_event && has_line
                || is_event && [&b"message"[..], b"log_s"].iter().any(|column| memchr::memmem::find(first, column).is_some())
        }
        None => false,
    }
}

/// Whether a line is the header of a table of events.
fn is_table(header: &[u8]) -> bool {
    let has = |text: &[u8]| memchr::memmem::find(header, text).is_some();
    header.contains(&b',') && has(b"AuditId") && has(b"Verb")
}

#[cfg(test)]
mod tests {
    use super::begins_as_audit_log;

    #[test]
    fn audit_logs_are_told_from_what_quotes_them() {
        let event = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"a","stage":"ResponseComplete"}"#;
        let quoted = event.replace('"', "\\\"");
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
            format!("TimeGenerated,Category,log_s\n2026,kube-audit,\"{}\"\n", event.replace('"', "\"\"")),
            r#"[{"AuditId":"a","Verb":"get"}]"#.to_owned(),
            r#"{"tables":[{"columns":[{"name":"AuditId"},{"name":"Verb"}],"rows":[]}]}"#.to_owned(),
        ] {
            assert!(begins_as_audit_log(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: []\n",
            r#"{"apiVersion":"audit.k8s.io/v1","kind":"Policy","rules":[]}"#,
            r#"{"apiVersion":"v1","kind":"List","items":[]}"#,
            "name,value\nid,1\n",
        ] {
            assert!(!begins_as_audit_log(text.as_bytes()), "{text}");
        }
    }
}
