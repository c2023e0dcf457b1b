//! OpenShift's own kinds: the columns of its API servers (openshift-apiserver 56aa2d9 and oauth-apiserver, `pkg/*/printers/internalversion`).

use std::collections::BTreeSet;
use std::fmt::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use ketcd_kube::go_duration::go_duration;

use super::fields::{at, count, flag, int, joined, list, name, scalar, text, time};
use super::{Cells, Printer, TableView};

pub(super) fn printer(group: &str, kind: &str) -> Option<Printer> {
    const TOKEN_COLUMNS: &str = "NAME|USER NAME|CLIENT NAME|CREATED|EXPIRES|REDIRECT URI|SCOPES";
    let (columns, cells): (&str, Cells) = match (group, kind) {
        ("apps.openshift.io", "DeploymentConfig") => ("NAME|REVISION|DESIRED|CURRENT|TRIGGERED BY", deployment_config),
        ("build.openshift.io", "Build") => ("NAME|TYPE|FROM|STATUS|STARTED|DURATION", build),
        ("build.openshift.io", "BuildConfig") => ("NAME|TYPE|FROM|LATEST", build_config),
        ("image.openshift.io", "Image") => ("NAME|IMAGE REFERENCE", |object, _| named(object, &["dockerImageReference"])),
        ("image.openshift.io", "ImageStream") => ("NAME|IMAGE REPOSITORY|TAGS|UPDATED", image_stream),
        ("oauth.openshift.io", "OAuthClient") => ("NAME|SECRET|WWW-CHALLENGE|TOKEN-MAX-AGE|REDIRECT URIS", oauth_client),
        ("oauth.openshift.io", "OAuthClientAuthorization") => ("NAME|USER NAME|CLIENT NAME|SCOPES", |object, _| {
            vec![name(object), text(object, "userName").to_owned(), text(object, "clientName").to_owned(), joined(object, "scopes")]
        }),
        ("oauth.openshift.io", "OAuthAccessToken" | "OAuthAuthorizeToken") => (TOKEN_COLUMNS, token),
        ("route.openshift.io", "Route") => ("NAME|HOST/PORT|PATH|SERVICES|PORT|TERMINATION|WILDCARD", route),
        ("security.openshift.io", "RangeAllocation") => ("NAME|RANGE|DATA", range_allocation),
        ("template.openshift.io", "Template") => ("NAME|DESCRIPTION|PARAMETERS|OBJECTS", template),
        ("template.openshift.io", "TemplateInstance") => ("NAME|TEMPLATE", |object, _| named(object, &["spec.template.metadata.name"])),
        ("template.openshift.io", "BrokerTemplateInstance") => {
            ("NAME|TEMPLATE INSTANCE", |object, _| named(object, &["spec.templateInstance.namespace"]))
        }
        ("user.openshift.io", "Group") => ("NAME|USERS", |object, _| vec![name(object), listed(object, "users")]),
        ("user.openshift.io", "Identity") => ("NAME|IDP NAME|IDP USER NAME|USER NAME|USER UID", |object, _| {
            named(object, &["providerName", "providerUserName", "user.name", "user.uid"])
        }),
        ("user.openshift.io", "User") => ("NAME|UID|FULL NAME|IDENTITIES", |object, _| {
            vec![name(object), text(object, "metadata.uid").to_owned(), text(object, "fullName").to_owned(), listed(object, "identities")]
        }),
        _ => return None,
    };
    Some(Printer { columns, cells })
}

fn named(object: &Value, paths: &[&str]) -> Vec<String> {
    std::iter::once(name(object)).chain(paths.iter().map(|path| text(object, path).to_owned())).collect()
}

/// The texts of a list, as users and groups show them.
fn listed(object: &Value, path: &str) -> String {
    list(object, path).iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}

fn deployment_config(object: &Value, _: TableView) -> Vec<String> {
    let replicas = int(object, "spec.replicas");
    let desired = if flag(object, "spec.test") { format!("{replicas} (during test)") } else { replicas.to_string() };
    let containers: BTreeSet<&str> =
        list(object, "spec.template.spec.containers").iter().map(|container| text(container, "name")).collect();
    let triggers = list(object, "spec.triggers").iter().filter_map(|trigger| match text(trigger, "type") {
        "ConfigChange" => Some("config".to_owned()),
        "ImageChange" => image_trigger(at(trigger, "imageChangeParams")?, &containers),
        other => Some(other.to_owned()),
    });
    let triggers: BTreeSet<String> = triggers.collect();
    vec![
        name(object),
        int(object, "status.latestVersion").to_string(),
        desired,
        int(object, "status.updatedReplicas").to_string(),
        Vec::from_iter(triggers).join(","),
    ]
}

/// The image that starts a deployment, with the containers where it is not the only one.
fn image_trigger(params: &Value, containers: &BTreeSet<&str>) -> Option<String> {
    if !flag(params, "automatic") {
        return None;
    }
    let mut names: Vec<&str> = list(params, "containerNames").iter().filter_map(Value::as_str).collect();
    let is_all = containers.len() == 1 || names.iter().all(|name| containers.contains(name));
    names.sort_unstable();
    let prefix = if is_all { String::new() } else { format!("{}:", names.join(",")) };
    let from = text(params, "from.name");
    Some(match text(params, "from.kind") {
        "ImageStreamTag" => format!("image({prefix}{from})"),
        kind => format!("{kind}({prefix}{from})"),
    })
}

fn build(object: &Value, view: TableView) -> Vec<String> {
    let (phase, reason) = (text(object, "status.phase"), text(object, "status.reason"));
    let duration = int(object, "status.duration");
    vec![
        name(object),
        strategy(object).to_owned(),
        source(object),
        if reason.is_empty() { phase.to_owned() } else { format!("{phase} ({reason})") },
        at(object, "status.startTimestamp").map_or_else(String::new, |started| ago(view, time(Some(started)))),
        if duration > 0 { go_duration(duration) } else { String::new() },
    ]
}

fn build_config(object: &Value, _: TableView) -> Vec<String> {
    let custom = at(object, "spec.strategy.customStrategy");
    let from = custom.map_or_else(|| source(object), |custom| text(custom, "from.name").to_owned());
    vec![name(object), strategy(object).to_owned(), from, int(object, "status.lastVersion").to_string()]
}

fn strategy(object: &Value) -> &'static str {
    const STRATEGY_NAMES: [(&str, &str); 4] = [
        ("dockerStrategy", "Docker"),
        ("customStrategy", "Custom"),
        ("sourceStrategy", "Source"),
        ("jenkinsPipelineStrategy", "JenkinsPipeline"),
    ];
    let strategy = at(object, "spec.strategy");
    STRATEGY_NAMES.iter().find(|(field, _)| strategy.and_then(|strategy| at(strategy, field)).is_some()).map_or("", |(_, shown)| *shown)
}

/// Where a build's source is from, with the commit or the branch.
fn source(object: &Value) -> String {
    let has = |field: &str| at(object, "spec.source").is_some_and(|source| at(source, field).is_some());
    let from = match (has("binary"), has("dockerfile"), has("git")) {
        (true, _, _) => "Binary",
        (_, true, true) => "Dockerfile,Git",
        (_, true, false) => return "Dockerfile".to_owned(),
        (_, _, true) => "Git",
        _ => return String::new(),
    };
    match git_revision(object) {
        "" => from.to_owned(),
        revision => format!("{from}@{revision}"),
    }
}

fn git_revision(object: &Value) -> &str {
    const ABBREVIATED_CHARS: usize = 20;
    let revision = match text(object, "spec.revision.git.commit") {
        "" => text(object, "spec.source.git.ref"),
        commit => commit,
    };
    let is_commit = revision.len() > ABBREVIATED_CHARS && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_commit { &revision[..7] } else { revision }
}

fn image_stream(object: &Value, view: TableView) -> Vec<String> {
    let tags = list(object, "status.tags");
    let created = |tag: &Value| list(tag, "items").first().and_then(|newest| time(at(newest, "created")));
    let latest = tags.iter().filter_map(created).max();
    let mut sorted: Vec<(Option<Timestamp>, &str)> = tags.iter().map(|tag| (created(tag), text(tag, "tag"))).collect();
    sorted.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(other.1)));
    let names: Vec<&str> = sorted.into_iter().map(|(_, name)| name).collect();
    let repositories = ["status.publicDockerImageRepository", "spec.dockerImageRepository", "status.dockerImageRepository"];
    let repository = repositories.iter().map(|path| text(object, path)).find(|repository| !repository.is_empty());
    vec![
        name(object),
        repository.unwrap_or_default().to_owned(),
        tags_of_width(&names),
        latest.map_or_else(String::new, |latest| ago(view, Some(latest))),
    ]
}

/// The names of tags, as many as fit into some forty characters, and how many more there are.
fn tags_of_width(names: &[&str]) -> String {
    const TAGS_COLUMNS: i64 = 40;
    const TAGS_MARGIN: i64 = TAGS_COLUMNS / 4;
    let mut remaining = TAGS_COLUMNS;
    let mut shown = names.len();
    for (index, name) in names.iter().enumerate() {
        let length = i64::try_from(name.len()).unwrap_or(TAGS_COLUMNS);
        remaining -= length + 1;
        let keeps_edge = index > 0 && TAGS_MARGIN < remaining + length && TAGS_MARGIN >= -remaining;
        if remaining < 0 && !keeps_edge {
            shown = index.max(1);
            break;
        }
    }
    let names_shown = names[..shown].join(",");
    match names.len() - shown {
        0 => names_shown,
        hidden => format!("{names_shown} + {hidden} more..."),
    }
}

fn oauth_client(object: &Value, _: TableView) -> Vec<String> {
    let max_age = match at(object, "accessTokenMaxAgeSeconds").and_then(Value::as_i64) {
        None => "default".to_owned(),
        Some(0) => "unexpiring".to_owned(),
        Some(seconds) => go_duration(seconds.saturating_mul(1_000_000_000)),
    };
    let challenges = flag(object, "respondWithChallenges").to_string();
    vec![name(object), text(object, "secret").to_owned(), challenges, max_age, joined(object, "redirectURIs")]
}

fn token(object: &Value, view: TableView) -> Vec<String> {
    let expires = match (int(object, "expiresIn"), time(at(object, "metadata.creationTimestamp"))) {
        (..=0, _) => "never".to_owned(),
        (seconds, Some(created)) => created
            .checked_add(SignedDuration::from_secs(seconds))
            .map_or_else(|_| "<unknown>".to_owned(), |expires| expires.strftime("%Y-%m-%d %H:%M:%S +0000 UTC").to_string()),
        (_, None) => "<unknown>".to_owned(),
    };
    vec![
        name(object),
        text(object, "userName").to_owned(),
        text(object, "clientName").to_owned(),
        view.age(object),
        expires,
        text(object, "redirectURI").to_owned(),
        joined(object, "scopes"),
    ]
}

fn route(object: &Value, _: TableView) -> Vec<String> {
    let (termination, insecure) = (text(object, "spec.tls.termination"), text(object, "spec.tls.insecureEdgeTerminationPolicy"));
    let policy = match (termination, insecure) {
        ("", "") => String::new(),
        ("", insecure) => format!("default/{insecure}"),
        (termination, "") => termination.to_owned(),
        (termination, insecure) => format!("{termination}/{insecure}"),
    };
    vec![
        name(object),
        route_host(object),
        text(object, "spec.path").to_owned(),
        backends(object),
        at(object, "spec.port").map_or_else(|| "<all>".to_owned(), |port| at(port, "targetPort").map_or_else(|| "0".to_owned(), scalar)),
        policy,
        text(object, "spec.wildcardPolicy").to_owned(),
    ]
}

/// The host that routers have admitted, or why none has.
fn route_host(object: &Value) -> String {
    let wanted = text(object, "spec.host");
    let (mut host, mut matched, mut reason, mut admitted, mut errors) = (wanted, false, "", 0, 0);
    for ingress in list(object, "status.ingress") {
        let Some(condition) = list(ingress, "conditions").iter().find(|condition| text(condition, "type") == "Admitted") else { continue };
        match text(condition, "status") {
            "True" => {
                admitted += 1;
                if !matched {
                    host = text(ingress, "host");
                    matched = host == wanted;
                }
            }
            "False" => {
                reason = text(condition, "reason");
                errors += 1;
            }
            _ => {}
        }
    }
    match (admitted, errors) {
        // Routers that set no status may have taken it.
        _ if at(object, "status.ingress").is_none() => host.to_owned(),
        (0, 1..) => reason.to_owned(),
        (_, 1..) => format!("{host} ... {errors} rejected"),
        (0, _) => "Pending".to_owned(),
        (1, _) => host.to_owned(),
        (more, _) => format!("{host} ... {} more", more - 1),
    }
}

/// The services of a route, with their shares where there are several.
fn backends(object: &Value) -> String {
    let nothing = Value::Null;
    let first = at(object, "spec.to").unwrap_or(&nothing);
    let all: Vec<&Value> = std::iter::once(first).chain(list(object, "spec.alternateBackends")).collect();
    let weight = |backend: &Value| at(backend, "weight").and_then(Value::as_i64);
    let total: i64 = all.iter().filter_map(|backend| weight(backend)).sum();
    let shown = all.iter().map(|backend| {
        let name = text(backend, "name");
        match weight(backend) {
            None => name.to_owned(),
            Some(_) if all.len() == 1 && total != 0 => name.to_owned(),
            Some(_) if total == 0 => format!("{name}(0%)"),
            Some(weight) => format!("{name}({}%)", weight * 100 / total),
        }
    });
    shown.collect::<Vec<_>>().join(",")
}

fn range_allocation(object: &Value, _: TableView) -> Vec<String> {
    let data = BASE64.decode(text(object, "data")).unwrap_or_default();
    let data = data.iter().fold("0x".to_owned(), |mut shown, byte| {
        let _ = write!(shown, "{byte:02x}");
        shown
    });
    vec![name(object), text(object, "range").to_owned(), data]
}

fn template(object: &Value, _: TableView) -> Vec<String> {
    const MAX_TEMPLATE_CHARS: usize = 80;
    let description = object["metadata"]["annotations"]["description"].as_str().unwrap_or_default();
    let mut description = match description.split_once('\n') {
        Some((first, _)) => format!("{first}..."),
        None => description.to_owned(),
    };
    if description.len() > MAX_TEMPLATE_CHARS {
        let end = (0..=MAX_TEMPLATE_CHARS - 3).rev().find(|&end| description.is_char_boundary(end)).unwrap_or(0);
        description = format!("{}...", description[..end].trim());
    }
    let parameters = list(object, "parameters");
    let unset = || parameters.iter().filter(|parameter| text(parameter, "value").is_empty());
    let generated = unset().filter(|parameter| !text(parameter, "generate").is_empty()).count();
    let total = parameters.len();
    let parameters = match (unset().count() - generated, generated) {
        (0, 0) => format!("{total} (all set)"),
        (0, generated) => format!("{total} ({generated} generated)"),
        (blank, _) => format!("{total} ({blank} blank)"),
    };
    vec![name(object), description, parameters, count(object, "objects")]
}

/// How long ago a time was, in words.
fn ago(view: TableView, time: Option<Timestamp>) -> String {
    match view.now.zip(time) {
        Some((now, time)) => format!("{} ago", in_words(now.duration_since(time))),
        None => "<unknown>".to_owned(),
    }
}

/// A duration as Docker writes it (docker/go-units `duration.go`).
fn in_words(duration: SignedDuration) -> String {
    let seconds = duration.as_secs();
    // Hours are rounded, and whole again for years.
    let (minutes, hours) = (seconds / 60, (seconds + 1800) / 3600);
    match seconds {
        ..1 => "Less than a second".to_owned(),
        1 => "1 second".to_owned(),
        2..60 => format!("{seconds} seconds"),
        _ if minutes == 1 => "About a minute".to_owned(),
        _ if minutes < 60 => format!("{minutes} minutes"),
        _ if hours == 1 => "About an hour".to_owned(),
        _ if hours < 48 => format!("{hours} hours"),
        _ if hours < 24 * 7 * 2 => format!("{} days", hours / 24),
        _ if hours < 24 * 30 * 2 => format!("{} weeks", hours / 24 / 7),
        _ if hours < 24 * 365 * 2 => format!("{} months", hours / 24 / 30),
        _ => format!("{} years", seconds / 3600 / 24 / 365),
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::json;

    use super::{backends, build, deployment_config, in_words, route_host, tags_of_width, template};
    use crate::table::TableView;

    fn view() -> TableView {
        TableView { now: Some("2026-11-24T10:00:00Z".parse().unwrap()), is_wide: false, release: ketcd_kube::Release::default() }
    }

    #[test]
    fn routes_show_what_routers_admitted_and_the_shares_of_services() {
        let condition = |status: &str| json!([{"type": "Admitted", "status": status, "reason": "HostAlreadyClaimed"}]);
        let mut route = json!({"spec": {"host": "a.example.com", "to": {"name": "web", "weight": 100}}});
        assert_eq!(route_host(&route), "a.example.com");
        assert_eq!(backends(&route), "web");
        route["status"]["ingress"] = json!([]);
        assert_eq!(route_host(&route), "Pending");
        route["status"]["ingress"] = json!([{"host": "a.example.com", "conditions": condition("False")}]);
        assert_eq!(route_host(&route), "HostAlreadyClaimed");
        route["status"]["ingress"] =
            json!([{"host": "b", "conditions": condition("True")}, {"host": "a.example.com", "conditions": condition("True")}]);
        assert_eq!(route_host(&route), "a.example.com ... 1 more");
        route["spec"]["alternateBackends"] = json!([{"name": "canary", "weight": 50}, {"name": "old"}]);
        assert_eq!(backends(&route), "web(66%),canary(33%),old");
    }

    #[test]
    fn deployments_show_what_starts_them() {
        let config = json!({
            "metadata": {"name": "shop"},
            "spec": {"replicas": 2, "test": true, "template": {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}, "triggers": [
                {"type": "ImageChange", "imageChangeParams": {"automatic": true, "containerNames": ["z", "a"], "from": {"kind": "ImageStreamTag", "name": "shop:1"}}},
                {"type": "ImageChange", "imageChangeParams": {"from": {"kind": "ImageStreamTag", "name": "shop:2"}}},
                {"type": "ConfigChange"}]},
            "status": {"latestVersion": 3, "updatedReplicas": 1},
        });
        assert_eq!(deployment_config(&config, view()), ["shop", "3", "2 (during test)", "1", "config,image(a,z:shop:1)"]);
    }

    #[test]
    fn builds_show_their_source_and_times() {
        let object = json!({
            "metadata": {"name": "shop-1"},
            "spec": {"source": {"git": {"ref": "main"}}, "revision": {"git": {"commit": "0123456789abcdef0123456789abcdef01234567"}}, "strategy": {"sourceStrategy": {}}},
            "status": {"phase": "Failed", "reason": "FetchSourceFailed", "startTimestamp": "2026-11-24T09:00:00Z", "duration": 63_000_000_000_i64},
        });
        assert_eq!(build(&object, view()), ["shop-1", "Source", "Git@0123456", "Failed (FetchSourceFailed)", "About an hour ago", "1m3s"]);
    }

    #[test]
    fn tags_that_do_not_fit_are_counted() {
        assert_eq!(tags_of_width(&["latest", "v1"]), "latest,v1");
        let (long, short) = ("x".repeat(60), "y".repeat(20));
        assert_eq!(tags_of_width(&[&long, "a"]), format!("{long} + 1 more..."));
        assert_eq!(tags_of_width(&[&short, &short, "a"]), format!("{short},{short} + 1 more..."));
    }

    #[test]
    fn templates_count_their_parameters() {
        let object = json!({
            "metadata": {"name": "app", "annotations": {"description": "First\nsecond"}},
            "parameters": [{"name": "A", "value": "x"}, {"name": "B", "generate": "expression"}, {"name": "C"}],
            "objects": [{}, {}],
        });
        assert_eq!(template(&object, view()), ["app", "First...", "3 (1 blank)", "2"]);
    }

    #[test]
    fn durations_are_written_as_docker_does() {
        for (seconds, words) in [
            (0, "Less than a second"),
            (59, "59 seconds"),
            (119, "About a minute"),
            (5400, "2 hours"),
            (86_400 * 3, "3 days"),
            (86_400 * 20, "2 weeks"),
        ] {
            assert_eq!(in_words(SignedDuration::from_secs(seconds)), words);
        }
    }
}
