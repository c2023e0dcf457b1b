//! Controllers of pods: Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs, autoscalers, budgets, revisions.

use serde_json::Value;

use super::fields::{at, containers, count, flag, int, int_or, is_true, labels, list, name, quantity, scalar, selector, text, time};
use super::{Cells, Printer, TableView, age};

pub(super) fn printer(group: &str, kind: &str) -> Option<Printer> {
    let (columns, cells): (&str, Cells) = match (group, kind) {
        ("apps", "Deployment") => ("NAME|READY|UP-TO-DATE|AVAILABLE|AGE|+CONTAINERS|+IMAGES|+SELECTOR", deployment),
        ("apps", "ReplicaSet") | ("", "ReplicationController") => {
            ("NAME|DESIRED|CURRENT|READY|AGE|+CONTAINERS|+IMAGES|+SELECTOR", replica_set)
        }
        ("apps", "StatefulSet") => ("NAME|READY|AGE|+CONTAINERS|+IMAGES", stateful_set),
        ("apps", "DaemonSet") => {
            ("NAME|DESIRED|CURRENT|READY|UP-TO-DATE|AVAILABLE|NODE SELECTOR|AGE|+CONTAINERS|+IMAGES|+SELECTOR", daemon_set)
        }
        ("apps", "ControllerRevision") => ("NAME|CONTROLLER|REVISION|AGE", controller_revision),
        ("batch", "Job") => ("NAME|STATUS|COMPLETIONS|DURATION|AGE|+CONTAINERS|+IMAGES|+SELECTOR", job),
        ("batch", "CronJob") => ("NAME|SCHEDULE|TIMEZONE|SUSPEND|ACTIVE|LAST SCHEDULE|AGE|+CONTAINERS|+IMAGES|+SELECTOR", cron_job),
        ("autoscaling", "HorizontalPodAutoscaler") => ("NAME|REFERENCE|TARGETS|MINPODS|MAXPODS|REPLICAS|AGE", autoscaler),
        ("policy", "PodDisruptionBudget") => ("NAME|MIN AVAILABLE|MAX UNAVAILABLE|ALLOWED DISRUPTIONS|AGE", budget),
        _ => return None,
    };
    Some(Printer { columns, cells })
}

fn deployment(object: &Value, view: TableView) -> Vec<String> {
    let [names, images] = containers(object, "spec.template.spec.containers");
    let mut selector = selector(at(object, "spec.selector"));
    match selector.as_str() {
        "<none>" => selector.clear(),
        "<error>" => selector = "<invalid>".to_owned(),
        _ => {}
    }
    vec![
        name(object),
        format!("{}/{}", int(object, "status.readyReplicas"), int_or(object, "spec.replicas", 1)),
        int(object, "status.updatedReplicas").to_string(),
        int(object, "status.availableReplicas").to_string(),
        view.age(object),
        names,
        images,
        selector,
    ]
}

fn replica_set(object: &Value, view: TableView) -> Vec<String> {
    let [names, images] = containers(object, "spec.template.spec.containers");
    // A ReplicationController's selector is a plain map.
    let is_plain = at(object, "spec.selector").and_then(Value::as_object).is_some_and(|map| map.values().all(Value::is_string));
    let selector = if is_plain { labels(at(object, "spec.selector")) } else { selector(at(object, "spec.selector")) };
    vec![
        name(object),
        int_or(object, "spec.replicas", 1).to_string(),
        int(object, "status.replicas").to_string(),
        int(object, "status.readyReplicas").to_string(),
        view.age(object),
        names,
        images,
        selector,
    ]
}

fn stateful_set(object: &Value, view: TableView) -> Vec<String> {
    let [names, images] = containers(object, "spec.template.spec.containers");
    let ready = format!("{}/{}", int(object, "status.readyReplicas"), int_or(object, "spec.replicas", 1));
    vec![name(object), ready, view.age(object), names, images]
}

fn daemon_set(object: &Value, view: TableView) -> Vec<String> {
    let [names, images] = containers(object, "spec.template.spec.containers");
    let counts = ["desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled", "numberAvailable"];
    let mut cells = vec![name(object)];
    cells.extend(counts.map(|field| int(&object["status"], field).to_string()));
    cells.extend([
        labels(at(object, "spec.template.spec.nodeSelector")),
        view.age(object),
        names,
        images,
        selector(at(object, "spec.selector")),
    ]);
    cells
}

fn controller_revision(object: &Value, view: TableView) -> Vec<String> {
    let controller = list(object, "metadata.ownerReferences").iter().find(|owner| flag(owner, "controller"));
    let controller = controller.map_or("<none>".to_owned(), |owner| {
        let group = text(owner, "apiVersion").rsplit_once('/').map_or(String::new(), |(group, _)| format!(".{group}"));
        format!("{}{group}/{}", text(owner, "kind").to_lowercase(), text(owner, "name"))
    });
    vec![name(object), controller, int(object, "revision").to_string(), view.age(object)]
}

fn job(object: &Value, view: TableView) -> Vec<String> {
    let succeeded = int(object, "status.succeeded");
    let completions = match (at(object, "spec.completions").and_then(Value::as_i64), int(object, "spec.parallelism")) {
        (Some(completions), _) => format!("{succeeded}/{completions}"),
        (None, parallelism @ 2..) => format!("{succeeded}/1 of {parallelism}"),
        _ => format!("{succeeded}/1"),
    };
    let end = time(at(object, "status.completionTime")).or(view.now);
    let duration = time(at(object, "status.startTime")).map_or(String::new(), |start| age(end, start));
    let is_deleting = at(object, "metadata.deletionTimestamp").is_some();
    let status = match () {
        () if is_true(object, "Complete") => "Complete",
        () if is_true(object, "Failed") => "Failed",
        () if is_deleting => "Terminating",
        () if is_true(object, "Suspended") => "Suspended",
        () if is_true(object, "FailureTarget") => "FailureTarget",
        () if is_true(object, "SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    };
    let [names, images] = containers(object, "spec.template.spec.containers");
    vec![name(object), status.to_owned(), completions, duration, view.age(object), names, images, selector(at(object, "spec.selector"))]
}

fn cron_job(object: &Value, view: TableView) -> Vec<String> {
    let suspend = match at(object, "spec.suspend").and_then(Value::as_bool) {
        Some(true) => "True",
        _ => "False",
    };
    let last = at(object, "status.lastScheduleTime");
    let [names, images] = containers(object, "spec.jobTemplate.spec.template.spec.containers");
    vec![
        name(object),
        text(object, "spec.schedule").to_owned(),
        at(object, "spec.timeZone").map_or("<none>".to_owned(), scalar),
        suspend.to_owned(),
        count(object, "status.active"),
        if last.is_some() { view.since(last) } else { "<none>".to_owned() },
        view.age(object),
        names,
        images,
        selector(at(object, "spec.jobTemplate.spec.selector")),
    ]
}

fn budget(object: &Value, view: TableView) -> Vec<String> {
    let limit = |path: &str| at(object, path).map_or("N/A".to_owned(), scalar);
    let allowed = int(object, "status.disruptionsAllowed").to_string();
    vec![name(object), limit("spec.minAvailable"), limit("spec.maxUnavailable"), allowed, view.age(object)]
}

fn autoscaler(object: &Value, view: TableView) -> Vec<String> {
    vec![
        name(object),
        format!("{}/{}", text(object, "spec.scaleTargetRef.kind"), text(object, "spec.scaleTargetRef.name")),
        targets(object),
        int_or(object, "spec.minReplicas", 1).to_string(),
        int(object, "spec.maxReplicas").to_string(),
        int(object, "status.currentReplicas").to_string(),
        view.age(object),
    ]
}

const MANY_METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const MANY_CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";

fn targets(object: &Value) -> String {
    let annotated =
        |name: &str| object["metadata"]["annotations"].get(name).and_then(Value::as_str).and_then(|text| serde_json::from_str(text).ok());
    let mut specs: Vec<Value> = annotated(MANY_METRICS).unwrap_or_else(|| list(object, "spec.metrics").to_vec());
    let mut statuses: Vec<Value> = annotated(MANY_CURRENT_METRICS).unwrap_or_else(|| list(object, "status.currentMetrics").to_vec());
    // autoscaling/v1, which 1.22 and older store, has a field for the one metric it knows.
    let cpu = |field: &str, utilization: &Value| serde_json::json!({"type": "Resource", "resource": {"name": "cpu", field: utilization}});
    if let Some(target) = at(object, "spec.targetCPUUtilizationPercentage") {
        specs.push(cpu("targetAverageUtilization", target));
    }
    if let (true, Some(current)) = (statuses.is_empty(), at(object, "status.currentCPUUtilizationPercentage")) {
        statuses.push(cpu("currentAverageUtilization", current));
    }
    let shown: Vec<String> = specs.iter().enumerate().map(|(index, spec)| metric(spec, statuses.get(index))).collect();
    match shown.len() {
        0 => "<none>".to_owned(),
        1 | 2 => shown.join(", "),
        more => format!("{} + {} more...", shown[..2].join(", "), more - 2),
    }
}

/// One metric: what is, and what is wanted.
fn metric(spec: &Value, status: Option<&Value>) -> String {
    let source = match text(spec, "type") {
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        "Pods" => "pods",
        "Object" => "object",
        "External" => "external",
        _ => return "<unknown type>".to_owned(),
    };
    let empty = Value::Null;
    let (spec, status) = (&spec[source], status.map_or(&empty, |status| &status[source]));
    // v2 spells target.averageValue and current.averageValue what v2beta1 spells targetAverageValue and currentAverageValue.
    let target = |new: &str, old: &str| at(spec, &format!("target.{new}")).or_else(|| at(spec, old)).cloned();
    let current = |new: &str, old: &str| at(status, &format!("current.{new}")).or_else(|| at(status, old)).cloned();
    let unknown = "<unknown>".to_owned();
    let amount = |value: Option<Value>| value.map_or(unknown.clone(), |value| quantity(Some(&value)));
    let average = target("averageValue", "targetAverageValue").or_else(|| at(spec, "averageValue").cloned());
    let current_average = || amount(current("averageValue", "currentAverageValue"));
    match (source, average) {
        ("resource" | "containerResource", Some(average)) => {
            format!("{}: {}/{}", text(spec, "name"), current_average(), quantity(Some(&average)))
        }
        ("resource" | "containerResource", None) => {
            let percent = |value: Option<Value>, otherwise: &str| value.map_or(otherwise.to_owned(), |value| format!("{value}%"));
            let now = percent(current("averageUtilization", "currentAverageUtilization"), "<unknown>");
            format!("{}: {now}/{}", text(spec, "name"), percent(target("averageUtilization", "targetAverageUtilization"), "<auto>"))
        }
        ("pods", average) => format!("{}/{}", current_average(), quantity(average.as_ref())),
        (_, Some(average)) => format!("{}/{} (avg)", current_average(), quantity(Some(&average))),
        (_, None) => {
            let wanted = target("value", "targetValue");
            format!("{}/{}", amount(current("value", "currentValue")), quantity(wanted.as_ref()))
        }
    }
}
