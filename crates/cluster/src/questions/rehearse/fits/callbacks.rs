//! Callbacks of the API server whose servers are not there: webhooks, conversions of custom kinds, aggregated APIs.
//!
//! A write that matches a webhook with `failurePolicy: Fail` is refused while the webhook does not answer (k8s.io/apiserver v0.36.3,
//! `pkg/admission/plugin/webhook/generic` and `validating/dispatcher.go`); one that matches pods refuses the pods of its own server too, unless its
//! selectors leave them out. Objects of a custom kind that have to be converted cannot be read (k8s.io/apiextensions-apiserver v0.36.3,
//! `pkg/apiserver/conversion`). An aggregated API that does not answer holds up discovery and deletions of namespaces.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use ketcd_kube::Object;

use super::super::forecast::{Affected, Forecast, ForecastKind};
use super::super::objects::{affected, counted, items, name, names, pairs, text, uid};
use super::super::states::{RehearsedState, States};
use crate::error::Result;
use crate::verify::Weight;

/// Where the kinds that call back are stored.
const CALLING_PATHS: [&str; 4] = [
    "/validatingwebhookconfigurations/",
    "/mutatingwebhookconfigurations/",
    "/apiregistration.k8s.io/apiservices/",
    "/apiextensions.k8s.io/customresourcedefinitions/",
];

/// What kubectl calls them, but for the definitions of custom kinds.
const CALLING_RESOURCES: &str = "validatingwebhookconfigurations,mutatingwebhookconfigurations,apiservices";

/// One server that the API server calls.
struct Callback {
    owner: Affected,
    /// What fails while it does not answer.
    fails: String,
    /// Namespace and name of its Service.
    service: (String, String),
    /// Whether it has to answer before pods are made.
    is_about_pods: bool,
}

/// Returns which callbacks fail.
pub(super) async fn forecasts(states: &States<'_>) -> Result<Vec<Forecast>> {
    let mut callbacks = Vec::new();
    for path in CALLING_PATHS {
        for object in states.backup.objects(path).await? {
            callbacks.extend(callbacks_of(&object));
        }
    }
    let mut forecasts = Vec::new();
    if !callbacks.is_empty() {
        let servers = Servers::of(states, &callbacks).await?;
        let (mut failing, mut is_harm) = (Vec::new(), false);
        for callback in callbacks {
            let Some(why) = servers.trouble(&callback.service) else { continue };
            is_harm |= callback.is_about_pods || why == MISSING_SERVICE;
            let (namespace, service) = &callback.service;
            failing.push(Affected { says: format!("{} by {namespace}/{service}, {why}", callback.fails), ..callback.owner });
        }
        forecasts.extend(of_failing(failing, is_harm));
    }
    forecasts.extend(of_bundles(states));
    Ok(forecasts)
}

fn of_failing(failing: Vec<Affected>, is_harm: bool) -> Option<Forecast> {
    if failing.is_empty() {
        return None;
    }
    let count = counted(failing.len(), "callback", "callbacks");
    let says =
        format!("{count} of the API server would not be answered: what needs them fails until their servers run or they are removed");
    let weight = if is_harm { Weight::High } else { Weight::Medium };
    let forecast = Forecast::new(ForecastKind::Callbacks, weight, says, failing).with_headline(format!("{count} without a server"));
    Some(forecast.with_command(format!("kubectl get {CALLING_RESOURCES}")))
}

/// The callbacks that an object asks for, of webhooks those that refuse when they fail.
fn callbacks_of(object: &Value) -> Vec<Callback> {
    let service = |pointer: &str| {
        let service = object.pointer(pointer).filter(|service| service.is_object())?;
        Some((text(service, "/namespace").to_owned(), text(service, "/name").to_owned()))
    };
    let callback = |service, fails: String, is_about_pods| Callback { owner: affected(object, ""), fails, service, is_about_pods };
    match text(object, "/kind") {
        "APIService" => {
            let fails = format!("{} is answered", name(object));
            service("/spec/service").map(|service| callback(service, fails, false)).into_iter().collect()
        }
        "CustomResourceDefinition" => {
            let fails = "objects of other versions are converted".to_owned();
            service("/spec/conversion/webhook/clientConfig/service").map(|service| callback(service, fails, false)).into_iter().collect()
        }
        _ => {
            let webhooks = items(object, "/webhooks").enumerate();
            let refusing = webhooks.filter(|(_, webhook)| text(webhook, "/failurePolicy") != "Ignore");
            let callbacks = refusing.filter_map(|(place, webhook)| {
                let called = service(&format!("/webhooks/{place}/clientConfig/service"))?;
                Some(callback(called, format!("{} is answered", text(webhook, "/name")), matches_pods(webhook)))
            });
            callbacks.collect()
        }
    }
}

fn matches_pods(webhook: &Value) -> bool {
    let resources = items(webhook, "/rules").flat_map(|rule| items(rule, "/resources"));
    resources.filter_map(Value::as_str).any(|resource| matches!(resource, "pods" | "*" | "*/*"))
}

const MISSING_SERVICE: &str = "a Service that the backup does not have";

/// The Services that are called, with the pods behind them.
struct Servers {
    /// Namespace and name of the backup's Services among them, each with its selector.
    services: BTreeMap<(String, String), Value>,
    /// Those of the backup that have no selector and no address either: nobody fills in one.
    without_address: HashSet<(String, String)>,
    /// The pods of the backup in their namespaces.
    pods: Vec<Object>,
    /// The uids of the pods that run now; `None` without a newer state.
    running: Option<HashSet<String>>,
}

impl Servers {
    async fn of(states: &States<'_>, callbacks: &[Callback]) -> Result<Self> {
        let namespaces: HashSet<&str> = callbacks.iter().map(|callback| callback.service.0.as_str()).collect();
        let (mut services, mut pods, mut without_address) = (BTreeMap::new(), Vec::new(), HashSet::new());
        let mut running = states.newest.as_ref().map(|_| HashSet::new());
        let nodes = match &states.newest {
            Some(newest) => names(newest, "/minions/").await?,
            None => names(&states.backup, "/minions/").await?,
        };
        for namespace in namespaces {
            let addressed = addressed(&states.backup, namespace).await?;
            for service in states.backup.objects(&format!("/services/specs/{namespace}/")).await? {
                let place = (namespace.to_owned(), name(&service).to_owned());
                if !has_selector(&service["spec"]["selector"])
                    && text(&service, "/spec/type") != "ExternalName"
                    && !addressed.contains(&place.1)
                {
                    without_address.insert(place.clone());
                }
                services.insert(place, service["spec"]["selector"].clone());
            }
            pods.extend(states.backup.objects(&format!("/pods/{namespace}/")).await?.into_iter().filter(|pod| !is_over(pod)));
            if let (Some(newest), Some(running)) = (&states.newest, &mut running) {
                let now = newest.objects(&format!("/pods/{namespace}/")).await?;
                let now = now.iter().filter(|pod| !is_over(pod) && nodes.contains(text(pod, "/spec/nodeName")));
                running.extend(now.map(|pod| uid(pod).to_owned()));
            }
        }
        Ok(Self { services, without_address, pods, running })
    }

    /// Why a Service does not answer; `None` where nothing says that it does not.
    fn trouble(&self, service: &(String, String)) -> Option<&'static str> {
        let Some(selector) = self.services.get(service) else { return Some(MISSING_SERVICE) };
        if self.without_address.contains(service) {
            return Some("a Service that has neither a selector nor an address");
        }
        let selector = selector.as_object().filter(|selector| !selector.is_empty())?;
        let mut behind = self
            .pods
            .iter()
            .filter(|pod| text(pod, "/metadata/namespace") == service.0)
            .filter(|pod| selector.iter().all(|(key, value)| pod["metadata"]["labels"][key] == *value))
            .peekable();
        if behind.peek().is_none() {
            return Some("a Service behind which the backup has no pod");
        }
        let running = self.running.as_ref()?;
        (!behind.any(|pod| running.contains(uid(pod))))
            .then_some("a Service whose pods of the backup do not run any more and have to start first")
    }
}

fn has_selector(selector: &Value) -> bool {
    selector.as_object().is_some_and(|selector| !selector.is_empty())
}

/// The names of the Services of a namespace that Endpoints or EndpointSlices have an address for.
async fn addressed(state: &RehearsedState<'_>, namespace: &str) -> Result<HashSet<String>> {
    let mut found = HashSet::new();
    for endpoints in state.objects(&format!("/services/endpoints/{namespace}/")).await? {
        if items(&endpoints, "/subsets").any(|subset| items(subset, "/addresses").next().is_some()) {
            found.insert(name(&endpoints).to_owned());
        }
    }
    for slice in state.objects(&format!("/endpointslices/{namespace}/")).await? {
        if items(&slice, "/endpoints").any(|endpoint| items(endpoint, "/addresses").next().is_some()) {
            found.insert(text(&slice, "/metadata/labels/kubernetes.io~1service-name").to_owned());
        }
    }
    Ok(found)
}

fn is_over(pod: &Value) -> bool {
    matches!(text(pod, "/status/phase"), "Succeeded" | "Failed")
}

/// The objects that trust another authority now than in the backup.
fn of_bundles(states: &States<'_>) -> Option<Forecast> {
    let mut differ = Vec::new();
    for path in CALLING_PATHS {
        for pair in pairs(states, path) {
            let (Some(before), Some(after)) = (&pair.before, &pair.after) else { continue };
            if bundles(before).any(|bundle| !bundle.1.is_empty() && bundles(after).any(|other| other.0 == bundle.0 && other.1 != bundle.1))
            {
                differ.push(pair.affected("trusts another authority now"));
            }
        }
    }
    if differ.is_empty() {
        return None;
    }
    let says = format!(
        "{} would trust the authority of then: calls fail until the server's certificate goes back too, or what wrote the bundle writes it anew",
        counted(differ.len(), "caller", "callers")
    );
    let forecast = Forecast::new(ForecastKind::Callbacks, Weight::Medium, says, differ);
    Some(forecast.with_command(format!("kubectl get {CALLING_RESOURCES},customresourcedefinitions -o yaml")))
}

/// What calls, and the authorities that it trusts.
fn bundles(object: &Value) -> impl Iterator<Item = (&str, &str)> {
    let webhooks = items(object, "/webhooks").map(|webhook| (text(webhook, "/name"), text(webhook, "/clientConfig/caBundle")));
    let own = [("", text(object, "/spec/caBundle")), ("conversion", text(object, "/spec/conversion/webhook/clientConfig/caBundle"))];
    webhooks.chain(own)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::made_up::{MadeUp, node, object, pod, with};
    use super::*;

    fn webhook(policy: &str, service: &str, resource: &str, bundle: &str) -> Value {
        let client = json!({"service": {"namespace": "shop", "name": service}, "caBundle": bundle});
        let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]});
        let webhook = json!({"name": "a.example.com", "failurePolicy": policy, "clientConfig": client, "rules": [rule], "sideEffects": "None",
            "admissionReviewVersions": ["v1"]});
        with(object("ValidatingWebhookConfiguration", "", &format!("{service}-{policy}"), service), json!({"webhooks": [webhook]}))
    }

    fn service(name: &str) -> Value {
        with(object("Service", "shop", name, name), json!({"spec": {"selector": {"app": name}}}))
    }

    fn server(app: &str, uid: &str) -> Value {
        with(pod(&format!("{app}-{uid}"), uid, "n1", "Running"), json!({"metadata": {"labels": {"app": app}}}))
    }

    fn says(forecasts: &[Forecast]) -> Vec<&str> {
        forecasts.iter().flat_map(|forecast| &forecast.affected).map(|affected| affected.says.as_str()).collect()
    }

    #[tokio::test]
    async fn a_webhook_without_a_server_refuses_writes() {
        let backup = [
            webhook("Fail", "gone", "configmaps", ""),
            webhook("Ignore", "gone", "pods", ""),
            service("empty"),
            webhook("Fail", "empty", "configmaps", ""),
        ];
        let made_up = MadeUp::alone(&backup).await;
        let found = forecasts(&made_up.states().await).await.unwrap();
        let expected = [
            "a.example.com is answered by shop/empty, a Service behind which the backup has no pod",
            "a.example.com is answered by shop/gone, a Service that the backup does not have",
        ];
        assert_eq!((says(&found), found[0].weight), (expected.to_vec(), Weight::High));
    }

    #[tokio::test]
    async fn a_service_without_a_selector_has_the_addresses_that_are_stored() {
        let bare = |name: &str| object("Service", "shop", name, name);
        let subsets = json!([{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 443}]}]);
        let outside =
            with(object("Service", "shop", "named", "n"), json!({"spec": {"type": "ExternalName", "externalName": "hook.example.com"}}));
        let backup = [
            bare("given"),
            with(object("Endpoints", "shop", "given", "e"), json!({"subsets": subsets})),
            webhook("Fail", "given", "configmaps", ""),
            outside,
            webhook("Fail", "named", "configmaps", ""),
            bare("nowhere"),
            webhook("Fail", "nowhere", "configmaps", ""),
        ];
        let made_up = MadeUp::alone(&backup).await;
        let found = forecasts(&made_up.states().await).await.unwrap();
        assert_eq!(says(&found), ["a.example.com is answered by shop/nowhere, a Service that has neither a selector nor an address"]);
    }

    #[tokio::test]
    async fn a_webhook_about_pods_waits_for_its_own() {
        let backup = [node("n1", "n"), service("hook"), webhook("Fail", "hook", "pods", ""), server("hook", "old")];
        let runs = [&backup[..3], &[server("hook", "old")]].concat();
        let made_up = MadeUp::two(&backup, &runs).await;
        assert_eq!(forecasts(&made_up.states().await).await.unwrap(), []);
        let replaced = [&backup[..3], &[server("hook", "new")]].concat();
        let made_up = MadeUp::two(&backup, &replaced).await;
        let found = forecasts(&made_up.states().await).await.unwrap();
        assert!(says(&found)[0].ends_with("whose pods of the backup do not run any more and have to start first"));
        assert_eq!(found[0].weight, Weight::High);
    }

    #[tokio::test]
    async fn authorities_that_were_rotated_are_named() {
        let server = [node("n1", "n"), service("hook"), server("hook", "a")];
        let backup = [&server[..], &[webhook("Fail", "hook", "pods", "b2xk")]].concat();
        let newest = [&server[..], &[webhook("Fail", "hook", "pods", "bmV3")]].concat();
        let made_up = MadeUp::two(&backup, &newest).await;
        let found = forecasts(&made_up.states().await).await.unwrap();
        assert_eq!((found.len(), says(&found)), (1, vec!["trusts another authority now"]));
    }
}
