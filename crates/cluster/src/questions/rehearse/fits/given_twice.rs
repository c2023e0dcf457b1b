//! Service addresses and node ports that another Service has now.
//!
//! The restored API server knows those of the backup alone, Services and their IPAddress objects alike, so that nothing in it conflicts; the conflict is
//! with what still runs. A kube-proxy serves the addresses that it read last until it lists Services anew, pods keep the addresses that they read when they
//! started, and what is outside (load balancers, DNS, firewalls) keeps what it was told. An address is free for others as soon as no Service has it
//! (k8s.io/kubernetes v1.36.3, `pkg/registry/core/service/ipallocator/controller/repairip.go` and `portallocator/controller/repair.go`).

use std::collections::BTreeMap;

use serde_json::Value;

use ketcd_kube::Object;

use super::super::forecast::{Affected, Forecast, ForecastKind};
use super::super::objects::{counted, full_name, items, pairs, text, uid};
use super::super::states::States;
use crate::error::Result;
use crate::verify::Weight;

/// Where Services are stored.
const SERVICE_PATH: &str = "/services/specs/";

/// Returns which addresses are given twice, and which are free again while they are still in use.
pub(super) async fn forecasts(states: &States<'_>) -> Result<Vec<Forecast>> {
    if states.newest.is_none() {
        states.note("which service addresses and node ports others have now: no newer state");
        return Ok(Vec::new());
    }
    let mut holders: BTreeMap<String, (String, String)> = BTreeMap::new();
    let of_service = |service: Object| Some((given(&service), (uid(&service).to_owned(), label(&service))));
    for (given, holder) in states.backup.made(SERVICE_PATH, of_service).await? {
        holders.extend(given.into_iter().map(|given| (given, holder.clone())));
    }
    let (mut twice, mut free) = (Vec::new(), Vec::new());
    for pair in pairs(states, SERVICE_PATH) {
        let Some(after) = &pair.after else { continue };
        let (mut others, mut released) = (Vec::new(), Vec::new());
        for given in given(after) {
            match holders.get(&given) {
                Some((holder, _)) if holder == uid(after) => {}
                Some((_, label)) => others.push(format!("{given}, which {label} has in the backup")),
                None => released.push(given),
            }
        }
        if !others.is_empty() {
            twice.push(pair.affected(format!("has {}", others.join(", "))));
        }
        if !released.is_empty() {
            free.push(pair.affected(format!("has {}", released.join(", "))));
        }
    }
    let show_free = states.of_newest("get services -A -o wide");
    Ok(of_twice(twice).into_iter().chain(of_free(free).map(|forecast| forecast.with_command(show_free))).collect())
}

fn of_twice(services: Vec<Affected>) -> Option<Forecast> {
    if services.is_empty() {
        return None;
    }
    let says = format!(
        "{} have addresses or ports now that other Services of the backup would have again: clients that keep the address reach the other Service",
        counted(services.len(), "Service", "Services")
    );
    let headline = format!("addresses of {} given twice", counted(services.len(), "Service", "Services"));
    let forecast = Forecast::new(ForecastKind::GivenTwice, Weight::Medium, says, services).with_headline(headline);
    Some(forecast.with_command("kubectl get services -A -o wide"))
}

fn of_free(services: Vec<Affected>) -> Option<Forecast> {
    if services.is_empty() {
        return None;
    }
    let says = format!(
        "addresses, ports and load balancers of {} that the backup does not have would be free for others, while clients and load balancers outside still \
         use them",
        counted(services.len(), "Service", "Services")
    );
    Some(Forecast::new(ForecastKind::GivenTwice, Weight::Low, says, services))
}

fn label(service: &Value) -> String {
    let (namespace, name) = full_name(service);
    format!("{namespace}/{name}")
}

/// The addresses and ports that no two Services may have.
fn given(service: &Value) -> Vec<String> {
    let addresses = items(service, "/spec/clusterIPs").filter_map(Value::as_str);
    let only = Some(text(service, "/spec/clusterIP")).filter(|_| service["spec"]["clusterIPs"].is_null());
    let mut given: Vec<String> =
        addresses.chain(only).filter(|address| !address.is_empty() && *address != "None").map(str::to_owned).collect();
    for port in items(service, "/spec/ports") {
        let protocol = port["protocol"].as_str().unwrap_or("TCP");
        given.extend(port["nodePort"].as_i64().filter(|port| *port > 0).map(|port| format!("node port {port}/{protocol}")));
    }
    given.extend(
        service["spec"]["healthCheckNodePort"].as_i64().filter(|port| *port > 0).map(|port| format!("health check node port {port}")),
    );
    given
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::made_up::{MadeUp, names, object, with};
    use super::*;

    fn service(name: &str, address: &str, port: i64) -> Value {
        let ports = json!([{"port": 80, "protocol": "TCP", "nodePort": port}]);
        with(object("Service", "shop", name, name), json!({"spec": {"clusterIP": address, "clusterIPs": [address], "ports": ports}}))
    }

    #[tokio::test]
    async fn addresses_of_deleted_services_come_back() {
        let backup = [service("old", "10.0.0.7", 30080), service("same", "10.0.0.8", 30081)];
        let newest = [service("new", "10.0.0.7", 30090), service("same", "10.0.0.8", 30081)];
        let made_up = MadeUp::two(&backup, &newest).await;
        let found = forecasts(&made_up.states().await).await.unwrap();
        assert_eq!(names(&found, ForecastKind::GivenTwice), ["new", "new"]);
        assert_eq!(found[0].affected[0].says, "has 10.0.0.7, which shop/old has in the backup");
        assert_eq!((found[1].weight, found[1].affected[0].says.as_str()), (Weight::Low, "has node port 30090/TCP"));
    }
}
