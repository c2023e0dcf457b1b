//! Pods and their templates.

use jiff::Timestamp;
use ketcd_cluster::read::Row;
use ketcd_history::state::Tone;
use ketcd_kube::{Decoder, Kind, UnknownField, as_decoded};
use ketcd_store::KeyValue;
use serde::Deserialize;
use serde_json::Value;

use super::fields::{at, containers, labels, name};
use super::pod_row::{Condition, Metadata, PodRow, PodStatus, Spec, list, text, text_or, time};
use super::row_fields::row_fields;
use super::{Printer, TableView};

const POD_COLUMNS: &str = "NAME|READY|STATUS|RESTARTS|AGE|+IP|+NODE|+NOMINATED NODE|+READINESS GATES";

pub(super) fn printer(group: &str, kind: &str) -> Option<Printer> {
    match (group, kind) {
        ("", "Pod") => Some(Printer { columns: POD_COLUMNS, cells }),
        ("", "PodTemplate") => Some(Printer {
            columns: "NAME|CONTAINERS|IMAGES|POD LABELS",
            cells: |object, _| {
                let [names, images] = containers(object, "template.spec.containers");
                vec![name(object), names, images, labels(at(object, "template.metadata.labels"))]
            },
        }),
        _ => None,
    }
}

fn cells(pod: &Value, view: TableView) -> Vec<String> {
    if let Ok(row) = PodRow::deserialize(pod) {
        return row.cells(view);
    }
    // Null stands for a zero value, as API servers read it.
    let mut mended = pod.clone();
    as_decoded(&mut mended);
    match PodRow::deserialize(&mended) {
        Ok(row) => row.cells(view),
        Err(error) => vec![name(pod), format!("<{error}>")],
    }
}

/// Returns the row of a stored pod that shows no labels, and the pod's unknown fields; `None` for other kinds, and for pods that have to be decoded.
pub fn stored_row(view: TableView, kind: &Kind, decoder: &Decoder, entry: &KeyValue) -> Option<(Row, Vec<UnknownField>)> {
    let fields = row_fields(kind).filter(|fields| fields.are_of_pods)?;
    let (pod, unknown): (PodRow<'_>, _) = decoder.only(&fields.cells).decode_as(&entry.key, &entry.value, entry.mod_revision.0).ok()?;
    let metadata = pod.metadata.as_ref().filter(|metadata| !text(&metadata.name).is_empty())?;
    let shown = pod.cells(view).into_iter().zip(POD_COLUMNS.split('|')).filter(|(_, column)| view.is_wide || !column.starts_with('+'));
    let cells = std::iter::once(text(&metadata.namespace).to_owned()).chain(shown.map(|(cell, _)| cell)).collect();
    Some((Row { cells, tone: pod.tone() }, unknown))
}

impl PodRow<'_> {
    /// How its state should strike the reader, as [`ketcd_history::state::state_of`] finds it in the whole pod.
    pub(super) fn tone(&self) -> Tone {
        let (no_spec, no_status) = (Spec::default(), PodStatus::default());
        let (spec, status) = (self.spec.as_ref().unwrap_or(&no_spec), self.status.as_ref().unwrap_or(&no_status));
        if self.metadata.as_ref().is_some_and(|metadata| metadata.deletion_timestamp.is_some()) {
            return Tone::Ending;
        }
        let mut containers = list(&status.init_container_statuses).iter().chain(list(&status.container_statuses));
        let scheduled = list(&status.conditions).iter().find(|condition| text(&condition.type_) == "PodScheduled");
        match status.phase.as_deref().unwrap_or("Pending") {
            "Succeeded" => Tone::Done,
            "Failed" | "Unknown" => Tone::Bad,
            _ if containers.any(|own| !matches!(own.waiting(), "" | "ContainerCreating" | "PodInitializing")) => Tone::Bad,
            "Running" if status.is_true("Ready") => Tone::Good,
            "Running" => Tone::Working,
            _ if spec.node_name.is_none() && scheduled.is_some_and(|scheduled| scheduled.reason.is_some()) => Tone::Waiting,
            _ => Tone::Working,
        }
    }

    /// Returns a cell for each column.
    pub fn cells(&self, view: TableView) -> Vec<String> {
        let (no_metadata, no_spec, no_status) = (Metadata::default(), Spec::default(), PodStatus::default());
        let metadata = self.metadata.as_ref().unwrap_or(&no_metadata);
        let spec = self.spec.as_ref().unwrap_or(&no_spec);
        let status = self.status.as_ref().unwrap_or(&no_status);
        let summary = ContainerSummary::of(metadata, spec, status);
        let restarts = match summary.last_restart {
            Some(_) if summary.restarts != 0 && view.now.is_some() => {
                format!("{} ({} ago)", summary.restarts, view.since_time(summary.last_restart))
            }
            _ => summary.restarts.to_string(),
        };
        let first_ip = list(&status.pod_ips).first().map_or("", |address| text(&address.ip));
        let ip = text_or(&status.pod_ip, first_ip);
        vec![
            text(&metadata.name).to_owned(),
            format!("{}/{}", summary.ready, summary.total),
            summary.reason,
            restarts,
            view.since_time(time(&metadata.creation_timestamp)),
            if ip.is_empty() { "<none>".to_owned() } else { ip },
            text_or(&spec.node_name, "<none>"),
            text_or(&status.nominated_node_name, "<none>"),
            readiness_gates(spec, status),
        ]
    }
}

/// What a pod's row says of all its containers together.
struct ContainerSummary {
    ready: usize,
    total: usize,
    reason: String,
    restarts: i64,
    last_restart: Option<Timestamp>,
}

impl ContainerSummary {
    fn of(metadata: &Metadata<'_>, spec: &Spec<'_>, status: &PodStatus<'_>) -> Self {
        let inits = list(&spec.init_containers).iter();
        let sidecars: Vec<&str> = inits.filter(|own| text(&own.restart_policy) == "Always").map(|own| text(&own.name)).collect();
        let phase = text(&status.phase);
        let is_gated = |condition: &Condition<'_>| text(&condition.type_) == "PodScheduled" && text(&condition.reason) == "SchedulingGated";
        let mut summary = Self {
            ready: 0,
            total: list(&spec.containers).len() + sidecars.len(),
            reason: match list(&status.conditions).iter().any(is_gated) {
                true => "SchedulingGated".to_owned(),
                false => text_or(&status.reason, phase),
            },
            restarts: 0,
            last_restart: None,
        };
        let (is_initializing, sidecar_restarts, last_sidecar_restart) = summary.add_init_containers(spec, status, &sidecars);
        if !is_initializing || status.is_true("Initialized") {
            (summary.restarts, summary.last_restart) = (sidecar_restarts, last_sidecar_restart);
            summary.add_containers(status);
        }
        if metadata.deletion_timestamp.is_some() {
            if text(&status.reason) == "NodeLost" {
                summary.reason = "Unknown".to_owned();
            } else if !matches!(phase, "Succeeded" | "Failed") {
                summary.reason = "Terminating".to_owned();
            }
        }
        summary
    }

    /// Returns whether initialisation goes on (or failed), and restarts of sidecars alone with the last of them.
    fn add_init_containers(&mut self, spec: &Spec<'_>, status: &PodStatus<'_>, sidecars: &[&str]) -> (bool, i64, Option<Timestamp>) {
        let (mut sidecar_restarts, mut last_sidecar_restart) = (0, None);
        for (index, own) in list(&status.init_container_statuses).iter().enumerate() {
            let is_sidecar = sidecars.contains(&text(&own.name));
            self.restarts += own.restarts();
            self.last_restart = self.last_restart.max(own.last_end());
            if is_sidecar {
                sidecar_restarts += own.restarts();
                last_sidecar_restart = last_sidecar_restart.max(own.last_end());
            }
            let (terminated, waiting) = (own.terminated(), own.waiting());
            if terminated.is_some_and(|terminated| terminated.exit_code() == 0) {
                continue;
            }
            if is_sidecar && own.started == Some(true) {
                self.ready += usize::from(own.is_ready());
                continue;
            }
            self.reason = match terminated {
                Some(terminated) => format!("Init:{}", terminated.ending()),
                None if !waiting.is_empty() && waiting != "PodInitializing" => format!("Init:{waiting}"),
                None => format!("Init:{index}/{}", list(&spec.init_containers).len()),
            };
            return (true, sidecar_restarts, last_sidecar_restart);
        }
        (false, sidecar_restarts, last_sidecar_restart)
    }

    fn add_containers(&mut self, status: &PodStatus<'_>) {
        let (mut has_running, mut error) = (false, None);
        for own in list(&status.container_statuses).iter().rev() {
            self.restarts += own.restarts();
            self.last_restart = self.last_restart.max(own.last_end());
            let waiting = own.waiting();
            if !waiting.is_empty() {
                self.reason = waiting.to_owned();
            } else if let Some(terminated) = own.terminated() {
                self.reason = terminated.ending();
                if terminated.exit_code() != 0 {
                    error = Some(self.reason.clone());
                }
            } else if own.is_ready() && own.state.as_ref().is_some_and(|state| state.running.is_some()) {
                has_running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            if has_running && status.is_true("Ready") {
                self.reason = "Running".to_owned();
            } else if let Some(error) = error {
                self.reason = error;
            } else if has_running {
                self.reason = "NotReady".to_owned();
            }
        }
    }
}

fn readiness_gates(spec: &Spec<'_>, status: &PodStatus<'_>) -> String {
    let gates = list(&spec.readiness_gates);
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates.iter().filter(|gate| status.is_true(text(&gate.condition_type))).count();
    format!("{open}/{}", gates.len())
}
