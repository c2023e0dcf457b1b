//! Services, endpoints, ingresses, network policies and addresses.

use std::collections::BTreeSet;

use serde_json::Value;

use super::fields::{at, first_three, int, joined, labels, list, name, scalar, selector, text, text_or};
use super::{Cells, Printer, TableView};

pub(super) fn printer(group: &str, kind: &str) -> Option<Printer> {
    let (columns, cells): (&str, Cells) = match (group, kind) {
        ("", "Service") => ("NAME|TYPE|CLUSTER-IP|EXTERNAL-IP|PORT(S)|AGE|+SELECTOR", service),
        ("", "Endpoints") => ("NAME|ENDPOINTS|AGE", |object, view| vec![name(object), endpoints(object), view.age(object)]),
        ("discovery.k8s.io", "EndpointSlice") => ("NAME|ADDRESSTYPE|PORTS|ENDPOINTS|AGE", endpoint_slice),
        ("networking.k8s.io", "Ingress") => ("NAME|CLASS|HOSTS|ADDRESS|PORTS|AGE", ingress),
        ("networking.k8s.io", "IngressClass") => ("NAME|CONTROLLER|PARAMETERS|AGE", ingress_class),
        ("networking.k8s.io", "NetworkPolicy") => {
            ("NAME|POD-SELECTOR|AGE", |object, view| vec![name(object), selector(at(object, "spec.podSelector")), view.age(object)])
        }
        ("networking.k8s.io", "ServiceCIDR") => {
            ("NAME|CIDRS|AGE", |object, view| vec![name(object), joined(object, "spec.cidrs"), view.age(object)])
        }
        ("networking.k8s.io", "IPAddress") => ("NAME|PARENTREF", ip_address),
        _ => return None,
    };
    Some(Printer { columns, cells })
}

fn service(object: &Value, view: TableView) -> Vec<String> {
    let cluster_ip = list(object, "spec.clusterIPs").first().and_then(Value::as_str).unwrap_or(text(object, "spec.clusterIP"));
    let ports: Vec<String> = list(object, "spec.ports").iter().map(port).collect();
    let or_none = |text: String| if text.is_empty() { "<none>".to_owned() } else { text };
    vec![
        name(object),
        text_or(object, "spec.type", "ClusterIP"),
        or_none(cluster_ip.to_owned()),
        external_ip(object),
        or_none(ports.join(",")),
        view.age(object),
        labels(at(object, "spec.selector")),
    ]
}

fn port(port: &Value) -> String {
    let protocol = text_or(port, "protocol", "TCP");
    match int(port, "nodePort") {
        1.. => format!("{}:{}/{protocol}", int(port, "port"), int(port, "nodePort")),
        _ => format!("{}/{protocol}", int(port, "port")),
    }
}

fn external_ip(object: &Value) -> String {
    let own = joined(object, "spec.externalIPs");
    match text(object, "spec.type") {
        "" | "ClusterIP" | "NodePort" if own.is_empty() => "<none>".to_owned(),
        "" | "ClusterIP" | "NodePort" => own,
        "LoadBalancer" => match (load_balancer(object), own.is_empty()) {
            (balancer, true) if balancer.is_empty() => "<pending>".to_owned(),
            (balancer, true) => balancer,
            (balancer, false) if balancer.is_empty() => own,
            (balancer, false) => format!("{balancer},{own}"),
        },
        "ExternalName" => text(object, "spec.externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

/// The addresses of a load balancer, sorted.
fn load_balancer(object: &Value) -> String {
    let address = |ingress: &Value| text_or(ingress, "ip", text(ingress, "hostname"));
    let addresses: BTreeSet<String> =
        list(object, "status.loadBalancer.ingress").iter().map(address).filter(|address| !address.is_empty()).collect();
    Vec::from_iter(addresses).join(",")
}

fn endpoints(object: &Value) -> String {
    const MAX_ENDPOINTS_SHOWN: usize = 3;
    let mut all = Vec::new();
    let subsets = list(object, "subsets");
    for subset in subsets {
        let ips = || list(subset, "addresses").iter().map(|address| text(address, "ip"));
        // Headless services may have no ports.
        if list(subset, "ports").is_empty() {
            all.extend(ips().map(str::to_owned));
        }
        for port in list(subset, "ports") {
            let number = int(port, "port");
            all.extend(ips().map(|ip| if ip.contains(':') { format!("[{ip}]:{number}") } else { format!("{ip}:{number}") }));
        }
    }
    match all.len() {
        _ if subsets.is_empty() => "<none>".to_owned(),
        0..=MAX_ENDPOINTS_SHOWN => all.join(","),
        more => format!("{} + {} more...", all[..MAX_ENDPOINTS_SHOWN].join(","), more - MAX_ENDPOINTS_SHOWN),
    }
}

fn endpoint_slice(object: &Value, view: TableView) -> Vec<String> {
    let port = |port: &Value| at(port, "port").or_else(|| at(port, "name")).map_or("*".to_owned(), scalar);
    let ports: Vec<String> = list(object, "ports").iter().map(port).collect();
    let addresses = list(object, "endpoints").iter().flat_map(|endpoint| list(endpoint, "addresses"));
    let addresses: Vec<String> = addresses.map(scalar).collect();
    let address_type = text(object, "addressType").to_owned();
    vec![name(object), address_type, first_three(&ports), first_three(&addresses), view.age(object)]
}

fn ingress(object: &Value, view: TableView) -> Vec<String> {
    let class = at(object, "spec.ingressClassName").map_or("<none>".to_owned(), scalar);
    let ports = if list(object, "spec.tls").is_empty() { "80" } else { "80, 443" };
    vec![name(object), class, hosts(object), load_balancer(object), ports.to_owned(), view.age(object)]
}

/// The hosts of the rules, at most three; how many more counts rules, not hosts.
fn hosts(object: &Value) -> String {
    const MAX_HOSTS_SHOWN: usize = 3;
    let rules = list(object, "spec.rules");
    let hosts: Vec<&str> = rules.iter().map(|rule| text(rule, "host")).filter(|host| !host.is_empty()).take(MAX_HOSTS_SHOWN).collect();
    // Rules after the one that filled the line.
    let filled = rules.iter().scan(0, |seen, rule| {
        *seen += usize::from(!text(rule, "host").is_empty());
        Some(*seen)
    });
    let has_more = filled.into_iter().position(|seen| seen == MAX_HOSTS_SHOWN).is_some_and(|at| at + 1 < rules.len());
    match hosts.join(",") {
        none if none.is_empty() => "*".to_owned(),
        shown if has_more => format!("{shown} + {} more...", rules.len() - MAX_HOSTS_SHOWN),
        shown => shown,
    }
}

fn ingress_class(object: &Value, view: TableView) -> Vec<String> {
    let annotations = &object["metadata"]["annotations"];
    let is_default = annotations.get("ingressclass.kubernetes.io/is-default-class").and_then(Value::as_str) == Some("true");
    let shown = if is_default { name(object) + " (default)" } else { name(object) };
    let parameters = at(object, "spec.parameters").map_or("<none>".to_owned(), |parameters| {
        let group = at(parameters, "apiGroup").map_or(String::new(), |group| format!(".{}", scalar(group)));
        format!("{}{group}/{}", text(parameters, "kind"), text(parameters, "name"))
    });
    vec![shown, text(object, "spec.controller").to_owned(), parameters, view.age(object)]
}

fn ip_address(object: &Value, _: TableView) -> Vec<String> {
    let parent = at(object, "spec.parentRef").map_or("<none>".to_owned(), |parent| {
        let group = text(parent, "group");
        let resource = if group.is_empty() { text(parent, "resource").to_owned() } else { format!("{}.{group}", text(parent, "resource")) };
        let namespace = text(parent, "namespace");
        let place = if namespace.is_empty() { String::new() } else { format!("/{namespace}") };
        format!("{}{place}/{}", resource.to_lowercase(), text(parent, "name"))
    });
    vec![name(object), parent]
}
