//! Reads audit logs of any form, one record at a time: what is kept is up to the caller.

use std::io::{self, Read};

use jiff::Timestamp;

use crate::container_log::{self, ContainerLog};
use crate::forms::{self, Record};
use crate::names::Names;
use crate::request::{Level, Request};
use crate::rows;
use crate::splitter::{Piece, Splitter, is_of_event};

/// What is read at once.
const PIECE_BYTES: usize = 256 << 10;

const MAX_DAMAGES_NAMED: usize = 5;

/// A line that is not an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it: a fragment such as `is cut short`.
    pub problem: String,
}

/// From when to when requests were seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSpan {
    /// When the first was received.
    pub from: Timestamp,
    /// When the last was answered.
    pub to: Timestamp,
}

impl LogSpan {
    /// Both spans and what lies between them.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { from: self.from.min(other.from), to: self.to.max(other.to) }
    }
}

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileReport {
    /// How many requests that have ended.
    pub requests: u64,
    /// How many other events.
    pub others: u64,
    /// From when to when; `None` where there is no request.
    pub span: Option<LogSpan>,
    /// How many lines are not events.
    pub damaged: u64,
    /// How many of them were events, or parts of one, whose content is lost.
    pub lost: u64,
    /// How many of the requests asked for a change.
    pub writes: u64,
    /// How many of these are logged with the body of the request.
    pub with_bodies: u64,
    /// How many of the requests that asked for a change were refused.
    pub refused: u64,
    /// The first of them.
    pub damages: Vec<Damage>,
    /// The times of the requests around damaged lines: what is lost was answered within them.
    pub holes: Vec<LogSpan>,
    /// When the last request was answered.
    last: Option<Timestamp>,
    /// Whether lines were damaged since.
    is_open: bool,
}

impl FileReport {
    fn see(&mut self, (line, record): (u64, Record), is_of_event: bool, each: &mut dyn FnMut(Request)) {
        match record {
            Record::Request(request) => {
                if request.is_open {
                    self.others += 1;
                    return each(*request);
                }
                self.requests += 1;
                self.writes += u64::from(request.verb.writes());
                self.refused += u64::from(request.verb.writes() && request.code >= 400);
                self.with_bodies += u64::from(request.verb.writes() && request.level > Level::Metadata);
                let span = LogSpan { from: request.received, to: request.completed };
                self.span = Some(self.span.map_or(span, |known| known.and(span)));
                self.close_hole(span.to);
                each(*request);
            }
            Record::Other | Record::Line => self.others += 1,
            Record::Unknown(problem) => self.damage(line, problem, is_of_event),
            Record::LeftOut(problem) => self.damage(line, problem, true),
        }
    }

    /// Notes what a log lacks that cannot be read to its end.
    fn end(&mut self, is_cut: bool) {
        if is_cut || self.is_open {
            self.is_open = true;
            self.close_hole(Timestamp::MAX);
        }
    }

    fn close_hole(&mut self, to: Timestamp) {
        let from = self.last.replace(to).unwrap_or(Timestamp::MIN);
        if !std::mem::take(&mut self.is_open) {
            return;
        }
        let hole = LogSpan { from: from.min(to), to: from.max(to) };
        // More than these are one.
        const MAX_HOLES_KEPT: usize = 1000;
        let is_full = self.holes.len() >= MAX_HOLES_KEPT;
        match self.holes.last_mut().filter(|last| is_full || last.to == hole.from) {
            Some(last) => *last = last.and(hole),
            None => self.holes.push(hole),
        }
    }

    fn damage(&mut self, line: u64, problem: String, loses: bool) {
        self.is_open = true;
        self.damaged += 1;
        self.lost += u64::from(loses);
        if self.damages.len() < MAX_DAMAGES_NAMED {
            self.damages.push(Damage { line, problem });
        }
    }
}

/// Reads logs, and keeps the texts that requests share.
#[derive(Debug, Default)]
pub struct Reader {
    names: Names,
}

impl Reader {
    /// Returns a reader whose requests keep the bodies that the log holds.
    #[must_use]
    pub fn with_bodies() -> Self {
        Self { names: Names::with_bodies() }
    }

    /// Returns a reader that gives requests twice whose answer takes long (watches, `exec`): when it begins, with
    /// [`is_open`](Request::is_open), and when it has ended.
    #[must_use]
    pub fn with_open() -> Self {
        Self { names: Names::with_open() }
    }

    /// Reads one log; `each` gets every request that has ended, refused ones and reads too. No more than one record is held.
    ///
    /// # Errors
    /// The stream's, with what was read before it.
    pub fn read(&mut self, from: &mut dyn Read, each: &mut dyn FnMut(Request)) -> (FileReport, io::Result<()>) {
        let mut report = FileReport::default();
        let mut beginning = vec![0; PIECE_BYTES];
        let length = match fill(from, &mut beginning) {
            Ok(length) => length,
            Err(error) => return (report, Err(error)),
        };
        beginning.truncate(length);
        if !container_log::begins_so(&beginning) && is_table(&beginning) {
            let names = &mut self.names;
            let all = io::Cursor::new(beginning).chain(from);
            rows::read(all, names, &mut |line, record, is_of_event| report.see((line, record), is_of_event, each));
            report.end(false);
            return (report, Ok(()));
        }
        let ended = self.documents(beginning, from, &mut report, each);
        report.end(ended.is_err());
        (report, ended)
    }

    fn documents(
        &mut self,
        mut piece: Vec<u8>,
        from: &mut dyn Read,
        report: &mut FileReport,
        each: &mut dyn FnMut(Request),
    ) -> io::Result<()> {
        let mut splitting = match container_log::begins_so(&piece) {
            true => Splitting::Container(Box::default()),
            false => Splitting::Documents(Box::default()),
        };
        let (names, mut columns) = (&mut self.names, Vec::new());
        let mut take = |found: Piece<'_>| match found {
            Piece::Heading(heading) => columns = rows::columns(heading),
            Piece::Record(line, row) if row.starts_with(b"[") && !columns.is_empty() => {
                report.see((line, rows::read_row(row, &columns, names)), is_of_event(row), each);
            }
            Piece::Record(line, record) => forms::read(record, names, &mut |found| {
                let is_lost = matches!(found, Record::Unknown(_)) && is_of_event(record);
                report.see((line, found), is_lost, each);
            }),
            Piece::Damage { line, why, loses } => report.damage(line, why.to_owned(), loses),
        };
        let ended = loop {
            splitting.feed(&piece, &mut take);
            if piece.len() < PIECE_BYTES {
                break Ok(());
            }
            match fill(from, &mut piece) {
                Ok(length) => piece.truncate(length),
                Err(error) => break Err(error),
            }
        };
        splitting.end(&mut take);
        ended
    }
}

/// How a text is split: as documents one behind the other, or as the log of a container, whose lines hold them.
enum Splitting {
    Documents(Box<Splitter>),
    Container(Box<ContainerLog>),
}

impl Splitting {
    fn feed(&mut self, bytes: &[u8], take: &mut dyn FnMut(Piece<'_>)) {
        match self {
            Self::Documents(splitter) => splitter.feed(bytes, take),
            Self::Container(log) => log.feed(bytes, take),
        }
    }

    fn end(&mut self, take: &mut dyn FnMut(Piece<'_>)) {
        match self {
            Self::Documents(splitter) => splitter.end(take),
            Self::Container(log) => log.end(take),
        }
    }
}

/// Fills a buffer as far as the stream goes.
fn fill(from: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match from.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// Whether a text begins with the header of a table.
fn is_table(beginning: &[u8]) -> bool {
    let first = beginning.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let first = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first);
    // A table of nothing but events has one column.
    rows::is_column_of_events(first)
        || !first.contains(&b'{')
            && !first.trim_ascii_start().starts_with(b"[")
            && first.contains(&b',')
            && first.iter().any(u8::is_ascii_alphabetic)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::request::Verb;

    const SAMPLE_EVENT: &str = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"a-1","stage":"ResponseComplete","requestURI":"/apis/apps/v1/namespaces/shop/deployments/web/scale?fieldManager=hand","verb":"patch","user":{"username":"root"},"impersonatedUser":{"username":"alice"},"sourceIPs":["10.0.0.1","10.0.0.2"],"userAgent":"kubectl/v1.37.2 (linux/amd64)","objectRef":{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps","apiVersion":"v1","subresource":"scale"},"responseStatus":{"metadata":{},"code":200},"requestObject":{"spec":{"replicas":3}},"responseObject":{"kind":"Scale","metadata":{"name":"web","uid":"u-1","resourceVersion":"396"}},"requestReceivedTimestamp":"2026-11-24T18:37:19.698533Z","stageTimestamp":"2026-11-24T18:37:19.703509Z"}"#;

    fn read(text: &str) -> (FileReport, Vec<Request>) {
        let mut requests = Vec::new();
        let (report, ended) = Reader::default().read(&mut text.as_bytes(), &mut |request| requests.push(request));
        ended.unwrap();
        (report, requests)
    }

    fn only(text: &str) -> Request {
        let (report, mut requests) = read(text);
        assert_eq!((requests.len(), report.damaged), (1, 0), "{text}: {report:?}");
        requests.remove(0)
    }

    /// The event as a row of Azure's tables; objects as they are, or as text.
    fn row(objects_are_text: bool) -> Vec<(&'static str, serde_json::Value)> {
        let event: serde_json::Value = serde_json::from_str(SAMPLE_EVENT).unwrap();
        let columns = [
            ("AuditId", "auditID"),
            ("Level", "level"),
            ("Stage", "stage"),
            ("RequestUri", "requestURI"),
            ("Verb", "verb"),
            ("User", "user"),
            ("ImpersonatedUser", "impersonatedUser"),
            ("SourceIps", "sourceIPs"),
            ("UserAgent", "userAgent"),
            ("ObjectRef", "objectRef"),
            ("ResponseStatus", "responseStatus"),
            ("RequestObject", "requestObject"),
            ("ResponseObject", "responseObject"),
            ("RequestReceivedTime", "requestReceivedTimestamp"),
            ("StageReceivedTime", "stageTimestamp"),
        ];
        let value = |member: &str| match &event[member] {
            text @ serde_json::Value::String(_) => text.clone(),
            other if objects_are_text => other.to_string().into(),
            other => other.clone(),
        };
        columns.into_iter().map(|(column, member)| (column, value(member))).collect()
    }

    /// What a query of Azure Monitor's REST interface returns of a row.
    fn queried(row: &[(&str, serde_json::Value)]) -> String {
        let (columns, cells): (Vec<_>, Vec<_>) = row.iter().map(|(name, cell)| (json!({"name": name, "type": "dynamic"}), cell)).unzip();
        json!({"tables": [{"name": "PrimaryResult", "columns": columns, "rows": [cells]}]}).to_string()
    }

    #[test]
    fn an_event_is_the_same_in_every_form() {
        let text = serde_json::to_string(SAMPLE_EVENT).unwrap();
        let parsed: serde_json::Value = serde_json::from_str(SAMPLE_EVENT).unwrap();
        let quoted = format!("\"{}\"", SAMPLE_EVENT.replace('"', "\"\""));
        let object = |row: Vec<(&str, serde_json::Value)>| {
            serde_json::Value::Object(row.into_iter().map(|(column, cell)| (column.to_owned(), cell)).collect()).to_string()
        };
        let (header, cells): (Vec<&str>, Vec<String>) =
            row(true).into_iter().map(|(column, cell)| (column, format!("\"{}\"", cell.as_str().unwrap().replace('"', "\"\"")))).unzip();
        for wrapped in [
            SAMPLE_EVENT.to_owned(),
            SAMPLE_EVENT.replace("audit.k8s.io/v1", "audit.k8s.io/v1beta1"),
            format!("\u{feff}{{\"kind\":\"EventList\",\"items\":[{SAMPLE_EVENT}]}}\n"),
            format!("[\n  {SAMPLE_EVENT}\n]"),
            format!("2026-11-24T18:37:19.000Z {SAMPLE_EVENT}\n"),
            format!("{{\"events\":[{{\"logStreamName\":\"kube-apiserver-audit-0\",\"message\":{text}}}]}}"),
            format!("{{\"messageType\":\"DATA_MESSAGE\",\"logEvents\":[{{\"id\":\"1\",\"message\":{text}}}]}}"),
            format!("{{\"results\":[[{{\"field\":\"@message\",\"value\":{text}}}]]}}"),
            format!("@timestamp,@message\n2026-11-24,{quoted}\n"),
            format!("{{\"category\":\"kube-audit\",\"properties\":{{\"log\":{text}}}}}"),
            format!("{{\"Category\":\"kube-audit\",\"log_s\":{text}}}"),
            object(row(false)),
            format!("[{}]", object(row(true))),
            format!("{}\n{}\n", header.join(","), cells.join(",")),
            queried(&row(false)),
            queried(&row(true)),
            queried(&[("Category", json!("kube-audit")), ("log_s", json!(SAMPLE_EVENT))]),
            // Items of an EventList that were taken out of it.
            SAMPLE_EVENT.replace("\"apiVersion\":\"audit.k8s.io/v1\",", ""),
            format!("{{\"labels\":{{\"job\":\"audit\"}},\"line\":{text},\"timestamp\":\"2026-11-24T18:37:19Z\"}}"),
            json!({"status": "success", "data": {"resultType": "streams", "result": [{"stream": {}, "values": [["1", SAMPLE_EVENT]]}]}})
                .to_string(),
            json!({"took": 1, "hits": {"total": {"value": 1}, "hits": [{"_id": "0", "_source": {"kubernetes": {"audit": parsed}}}]}})
                .to_string(),
            json!({"responses": [{"hits": {"hits": [{"_source": {"message": SAMPLE_EVENT, "kubernetes": {"audit": parsed}}}]}}]})
                .to_string(),
            json!({"rawResponse": {"hits": {"hits": [{"_source": parsed}]}}}).to_string(),
            json!({"_index": "a", "_source": {"event": {"original": SAMPLE_EVENT}}}).to_string(),
            json!({"preview": false, "result": {"_raw": SAMPLE_EVENT, "_time": "1"}}).to_string(),
            json!({"results": [{"_raw": SAMPLE_EVENT}]}).to_string(),
            json!({"time": 1, "sourcetype": "kube:audit", "event": parsed}).to_string(),
            format!("\"_raw\"\n{quoted}\n"),
            format!("\"_time\",\"_raw\"\n1,{quoted}\n"),
            format!("Date,labels,Line\n1,x,{quoted}\n"),
            format!("2026-11-24T18:37:19.698533123Z stdout F {SAMPLE_EVENT}\n"),
            format!(
                "2026-11-24T18:37:19.1Z stdout P {}\n2026-11-24T18:37:19.1Z stderr F \n2026-11-24T18:37:19.1Z stdout F {}\n",
                &SAMPLE_EVENT[..300],
                &SAMPLE_EVENT[300..]
            ),
            json!({"line": format!("2026-11-24T18:37:19.698533123Z stdout F {SAMPLE_EVENT}")}).to_string(),
            format!("{}\n", json!({"log": format!("{SAMPLE_EVENT}\n"), "stream": "stdout", "time": "2026-11-24T18:37:19Z"})),
        ] {
            let request = only(&wrapped);
            let target = &request.target;
            assert_eq!((&*request.audit_id, request.verb, request.level), ("a-1", Verb::Patch, Level::RequestResponse), "{wrapped}");
            assert_eq!((&*request.user, request.impersonator.as_deref()), ("alice", Some("root")), "{wrapped}");
            assert_eq!(
                [&*target.group, &*target.version, &*target.resource, &*target.namespace, &*target.name, &*target.subresource],
                ["apps", "v1", "deployments", "shop", "web", "scale"]
            );
            assert_eq!((request.names_revision, request.uid.as_deref(), request.code), (Some(396), Some("u-1"), 200), "{wrapped}");
            assert_eq!((request.manager.as_deref(), request.source_ips.len()), (Some("hand"), 2), "{wrapped}");
            assert_eq!(request.completed.to_string(), "2026-11-24T18:37:19.703509Z");
            assert!(request.may_change() && request.doubt.is_zero());
        }
    }

    #[test]
    fn an_entry_of_google_is_a_request_with_one_time() {
        let entry = |status: serde_json::Value| {
            json!({"insertId": "i", "timestamp": "2026-11-24T18:37:19.703509Z", "operation": {"id": "a-1", "first": true, "last": true},
                "protoPayload": {"serviceName": "k8s.io", "methodName": "io.k8s.apps.v1.deployments.scale.patch",
                "resourceName": "apps/v1/namespaces/shop/deployments/web/scale", "authenticationInfo": {"principalEmail": "alice"},
                "requestMetadata": {"callerIp": "10.0.0.1", "callerSuppliedUserAgent": "kubectl/v1.37.2"}, "status": status,
                "response": {"kind": "Scale", "metadata": {"name": "web", "resourceVersion": "396"}}}})
            .to_string()
        };
        let request = only(&entry(json!({})));
        assert_eq!((&*request.user, request.verb, &*request.target.subresource), ("alice", Verb::Patch, "scale"));
        assert_eq!((request.names_revision, request.code), (Some(396), 0));
        let (from, to) = request.interval();
        assert!(request.may_change() && to - from > 1_000_000);
        assert!(!only(&entry(json!({"code": 7}))).may_change());
    }

    #[test]
    fn what_changed_nothing_never_counts() {
        let changed = |from: &str, to: &str| {
            assert!(SAMPLE_EVENT.contains(from), "{from}");
            only(&SAMPLE_EVENT.replace(from, to)).may_change()
        };
        assert!(changed("alice", "bob"));
        for (from, to) in [
            ("\"code\":200", "\"code\":403"),
            ("\"code\":200", "\"code\":409"),
            ("?fieldManager=hand", "?dryRun=All"),
            ("{\"spec\":{\"replicas\":3}}", "{\"kind\":\"DeleteOptions\",\"dryRun\":[\"All\"]}"),
            ("\"verb\":\"patch\"", "\"verb\":\"get\""),
            ("\"subresource\":\"scale\"", "\"subresource\":\"token\""),
            ("\"resource\":\"deployments\"", "\"resource\":\"selfsubjectaccessreviews\""),
        ] {
            assert!(!changed(from, to), "{to}");
        }
        let (report, requests) = read(&SAMPLE_EVENT.replace("ResponseComplete", "RequestReceived"));
        assert_eq!((report.others, requests.len()), (1, 0));
    }

    #[test]
    fn damage_is_named_by_its_line() {
        let text = format!("{SAMPLE_EVENT}\n{}\n{SAMPLE_EVENT}\n{{\"a\":1}}\nnot an event\n", &SAMPLE_EVENT[..200]);
        let (report, requests) = read(&text);
        assert_eq!((requests.len(), report.damaged), (2, 3));
        let lines: Vec<(u64, &str)> = report.damages.iter().map(|damage| (damage.line, damage.problem.as_str())).collect();
        assert_eq!(lines, [(2, "is cut short"), (4, "is not an audit event"), (5, "has text that is not JSON")]);
        // What is lost was answered between the requests around it, or after the last one.
        let holes: Vec<(String, bool)> = report.holes.iter().map(|hole| (hole.from.to_string(), hole.to == Timestamp::MAX)).collect();
        let answered = "2026-11-24T18:37:19.703509Z".to_owned();
        assert_eq!(holes, [(answered, true)]);
        let times = report.span.unwrap();
        assert_eq!(times.to.to_string(), "2026-11-24T18:37:19.703509Z");
    }

    /// As `journalctl -o json` prints a long line without `--all`.
    #[test]
    fn what_the_journal_leaves_out_is_lost() {
        let line = |message: serde_json::Value| json!({"_SYSTEMD_UNIT": "kube-apiserver.service", "MESSAGE": message}).to_string();
        let (report, requests) = read(&format!("{}\n{}\n", line(json!(SAMPLE_EVENT)), line(serde_json::Value::Null)));
        assert_eq!((requests.len(), report.damaged, report.lost), (1, 1, 1));
        assert!(report.damages[0].problem.contains("--all"), "{report:?}");
    }

    #[test]
    fn a_body_that_is_left_out_is_not_read() {
        let text = SAMPLE_EVENT.replace(
            r#"{"kind":"Scale","metadata":{"name":"web","uid":"u-1","resourceVersion":"396"}}"#,
            "\"skipped-too-big-size-object\"",
        );
        assert_eq!(only(&text).names_revision, None);
        let of_collection = SAMPLE_EVENT.replace("\"verb\":\"patch\"", "\"verb\":\"deletecollection\"").replace(
            r#"{"kind":"Scale","metadata":{"name":"web","uid":"u-1","resourceVersion":"396"}}"#,
            r#"{"kind":"PodList","metadata":{"resourceVersion":"400"},"items":[{"metadata":{"name":"web-0"}}]}"#,
        );
        let request = only(&of_collection);
        assert_eq!((request.names_revision, request.deleted.unwrap().len()), (None, 1));
    }
}
