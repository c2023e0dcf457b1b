//! Tables and metadata: what kubectl asks for to print columns.

use serde_json::{Value, json};

use crate::server::{Server, name};

const TABLE_ACCEPT: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA_ACCEPT: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

fn cells(table: &Value) -> Vec<Vec<Value>> {
    table["rows"].as_array().unwrap().iter().map(|row| row["cells"].as_array().unwrap().clone()).collect()
}

#[test]
fn tables_have_typed_cells_and_the_metadata_of_their_objects() {
    let server = Server::start("k136-story/snapshot.db.zst", &[]);
    let (code, table) = server.get_as("/apis/apps/v1/namespaces/web/deployments", TABLE_ACCEPT);
    assert_eq!((code, &table["kind"], &table["apiVersion"]), (200, &json!("Table"), &json!("meta.k8s.io/v1")));
    let columns: Vec<&str> = table["columnDefinitions"].as_array().unwrap().iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!(columns, ["Name", "Ready", "Up-to-date", "Available", "Age", "Containers", "Images", "Selector"]);
    assert_eq!(table["columnDefinitions"][0]["format"], "name");
    assert_eq!(table["columnDefinitions"][7]["priority"], 1);
    assert!(cells(&table)[0][2].is_number());
    let items = server.items("/apis/apps/v1/namespaces/web/deployments");
    for (row, item) in table["rows"].as_array().unwrap().iter().zip(&items) {
        assert_eq!((&row["object"]["kind"], &row["object"]["metadata"]), (&json!("PartialObjectMetadata"), &item["metadata"]));
    }
    let (_, whole) = server.get_as("/apis/apps/v1/namespaces/web/deployments?includeObject=Object", TABLE_ACCEPT);
    assert_eq!(whole["rows"][0]["object"]["spec"], items[0]["spec"]);
    let (_, bare) = server.get_as("/apis/apps/v1/namespaces/web/deployments?includeObject=None", TABLE_ACCEPT);
    assert_eq!(bare["rows"][0]["object"], Value::Null);
    let (_, one) = server.get_as("/apis/apps/v1/namespaces/web/deployments/tomcat", TABLE_ACCEPT);
    assert_eq!(cells(&one), cells(&table)[..1]);
}

#[test]
fn columns_of_custom_resources_are_their_definitions() {
    let server = Server::start("k136-story/snapshot.db.zst", &[]);
    let (_, table) = server.get_as("/apis/example.com/v1/gadgets", TABLE_ACCEPT);
    let definition = server.found("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.example.com");
    let version = definition["spec"]["versions"].as_array().unwrap().iter().find(|version| version["name"] == "v1").unwrap();
    let wanted: Vec<&Value> = version["additionalPrinterColumns"].as_array().unwrap().iter().map(|column| &column["name"]).collect();
    let found: Vec<&Value> = table["columnDefinitions"].as_array().unwrap().iter().skip(1).map(|column| &column["name"]).collect();
    assert!(!found.is_empty());
    assert_eq!(found, wanted);
}

/// The release decides which columns there are.
#[test]
fn definitions_and_classes_are_printed_as_the_release_prints_them() {
    let (definitions, classes) = ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/storage.k8s.io/v1/storageclasses");
    let columns = |table: &Value| -> Vec<String> {
        table["columnDefinitions"].as_array().unwrap().iter().map(|column| column["name"].as_str().unwrap().to_owned()).collect()
    };
    let server = Server::start("k136-story/snapshot.db.zst", &[]);
    assert_eq!(columns(&server.get_as(definitions, TABLE_ACCEPT).1), ["Name", "Created At"]);
    let server = Server::start("k136-story/snapshot.db.zst", &["--release", "1.37"]);
    let (_, table) = server.get_as(definitions, TABLE_ACCEPT);
    assert_eq!(columns(&table), ["Name", "Scope", "Versions", "Created At", "Group", "Kind", "ShortNames", "Established"]);
    assert_eq!((&cells(&table)[0][1], &cells(&table)[0][7]), (&json!("Namespaced"), &json!(true)));
    let (code, table) = server.get_as(classes, TABLE_ACCEPT);
    assert_eq!((code, &cells(&table)[0][0]), (200, &json!("slow")));
    assert_eq!(server.get("/apis/certificates.k8s.io/v1/podcertificaterequests?fieldSelector=spec.podName=a").0, 200);
}

#[test]
fn ages_are_those_of_the_moment() {
    let server = Server::start("k136-story/snapshot.db.zst", &[]);
    let age = |path: &str| server.get_as(path, TABLE_ACCEPT).1["rows"][0]["cells"][2].clone();
    let (early, late) = (age("/at/2026-11-21T00:15:00Z/api/v1/namespaces"), age("/at/2026-11-21T00:24:08Z/api/v1/namespaces"));
    assert_eq!((early, late), (json!("53s"), json!("10m")));
}

#[test]
fn metadata_comes_alone() {
    let server = Server::start("k136-story/snapshot.db.zst", &[]);
    let (_, list) = server.get_as("/api/v1/pods", METADATA_ACCEPT);
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    let items = list["items"].as_array().unwrap();
    let pods = server.items("/api/v1/pods");
    assert_eq!(items.len(), pods.len());
    for (item, pod) in items.iter().zip(&pods) {
        assert_eq!(
            item,
            &json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": pod["metadata"]}),
            "{}",
            name(pod)
        );
    }
}
