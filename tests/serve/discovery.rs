//! Discovery: the resources of the data's release, in both forms.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::server::Server;

const AGGREGATED_ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// `group/version resource[/subresource] verbs` of the old documents.
fn old(server: &Server) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let groups = server.found("/apis");
    let versions = groups["groups"].as_array().unwrap().iter().flat_map(|group| group["versions"].as_array().unwrap());
    let paths = versions.map(|version| format!("/apis/{}", version["groupVersion"].as_str().unwrap()));
    for path in paths.chain(["/api/v1".to_owned()]) {
        let list = server.found(&path);
        for resource in list["resources"].as_array().unwrap() {
            found.insert(format!(
                "{} {} {}",
                list["groupVersion"].as_str().unwrap(),
                resource["name"].as_str().unwrap(),
                resource["verbs"]
            ));
        }
    }
    found
}

/// The same of the aggregated documents.
fn aggregated(server: &Server) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in ["/api", "/apis"] {
        let (_, list) = server.get_as(path, AGGREGATED_ACCEPT);
        assert_eq!((&list["kind"], &list["apiVersion"]), (&json!("APIGroupDiscoveryList"), &json!("apidiscovery.k8s.io/v2")));
        for group in list["items"].as_array().unwrap() {
            for version in group["versions"].as_array().unwrap() {
                let prefix = group["metadata"]["name"].as_str().map_or(String::new(), |name| format!("{name}/"));
                let name = format!("{prefix}{}", version["version"].as_str().unwrap());
                for resource in version["resources"].as_array().unwrap() {
                    let plural = resource["resource"].as_str().unwrap();
                    found.insert(format!("{name} {plural} {}", resource["verbs"]));
                    for own in resource["subresources"].as_array().into_iter().flatten() {
                        found.insert(format!("{name} {plural}/{} {}", own["subresource"].as_str().unwrap(), own["verbs"]));
                    }
                }
            }
        }
    }
    found
}

#[test]
fn both_forms_name_the_same() {
    for (file, some) in [
        (
            "k136-story/snapshot.db.zst",
            ["resource.k8s.io/v1 deviceclasses", "autoscaling/v1 horizontalpodautoscalers", "example.com/v1beta1 gadgets"],
        ),
        ("k120-story/snapshot.db.zst", ["policy/v1beta1 podsecuritypolicies", "extensions/v1beta1 ingresses", "example.com/v1 widgets"]),
    ] {
        let server = Server::start(file, &[]);
        let found = old(&server);
        assert_eq!(found, aggregated(&server), "{file}");
        for wanted in some {
            assert!(found.contains(&format!("{wanted} [\"get\",\"list\",\"watch\"]")), "{file}: {wanted}");
        }
    }
}

/// The API server's own list of its versions, from its APIServices, which aggregation keeps in etcd.
#[test]
fn groups_and_versions_are_those_of_the_recorded_server() {
    for file in ["k136-story/snapshot.db.zst", "k120-story/snapshot.db.zst"] {
        let server = Server::start(file, &[]);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let services = server.items("/apis/apiregistration.k8s.io/v1/apiservices");
        let mut wanted: BTreeSet<String> = services.iter().map(|service| text(&service["metadata"]["name"])).collect();
        // It keeps none of its own group.
        wanted.extend(["v1.apiregistration.k8s.io".to_owned(), "v1beta1.apiregistration.k8s.io".to_owned()]);
        let groups = server.found("/apis");
        let mut found: BTreeSet<String> = groups["groups"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|group| {
                group["versions"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|version| format!("{}.{}", text(&version["version"]), text(&group["name"])))
            })
            .collect();
        found.extend(["v1.".to_owned(), "v1beta1.apiregistration.k8s.io".to_owned()]);
        assert_eq!(found, wanted, "{file}");
    }
}

#[test]
fn the_version_is_that_of_the_data_and_says_whose_it_is() {
    let server = Server::start("k120-story/snapshot.db.zst", &[]);
    let version = server.found("/version");
    assert_eq!((&version["major"], &version["minor"], &version["gitVersion"]), (&json!("1"), &json!("20"), &json!("v1.20.0+ketcd")));
    for path in ["/healthz", "/livez", "/readyz", "/readyz/etcd"] {
        assert_eq!(server.send("GET", path, &[], ""), (200, "ok".to_owned()));
    }
}
