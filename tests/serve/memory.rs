//! Answers are written as they are read: what the server takes for one does not grow with it.

use ketcd_kube::{Body, Decoder, Release};

use crate::server::Server;

/// Bytes of memory that the server has, by what the kernel calls them.
fn memory(server: &Server, what: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(':')).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() << 10
}

/// Reads an answer, and returns it with the most that the server held meanwhile beyond what it held before.
fn measured(server: &Server, path: &str, accept: &str) -> (Vec<u8>, usize) {
    // From here on the kernel notes the most anew (proc(5), clear_refs).
    std::fs::write(format!("/proc/{}/clear_refs", server.process()), "5").unwrap();
    let before = memory(server, "RssAnon");
    let (code, _, bytes) = server.bytes(path, accept);
    assert_eq!(code, 200, "{path} {accept}: {}", String::from_utf8_lossy(&bytes[..bytes.len().min(300)]));
    // The files that it maps do not count.
    (bytes, memory(server, "VmHWM").saturating_sub(before + memory(server, "RssFile")))
}

const OBJECTS_PARAMS: &str = "";
const TABLE_PARAMS: &str = ";as=Table;v=v1;g=meta.k8s.io";
const METADATA_PARAMS: &str = ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
const WHOLE_PARAMS: &str = "?includeObject=Object";
const PAGE_PARAMS: &str = "?limit=1000000&includeObject=Object";

/// Reads a long list in these shapes of YAML, and in protobuf, which says how many objects there are.
fn are_not_held(shapes: &[(&str, &str)]) {
    const POD_COUNT: usize = 3_500;
    const MAX_HEAP_BYTES: usize = 32 << 20;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("snapshot.db");
    ketcd_synthetic::write(POD_COUNT, 1, &file).unwrap();
    let server = Server::start(file.to_str().unwrap(), &[]);
    let pods = "/api/v1/pods";
    // What is made once is made.
    for media in ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"] {
        measured(&server, &format!("{pods}?limit=10"), media);
    }
    let mut listed = Vec::new();
    for (shape, query) in shapes {
        let (text, needed) = measured(&server, &format!("{pods}{query}"), &format!("application/yaml{shape}"));
        assert!(needed < MAX_HEAP_BYTES, "{needed} bytes for {} of YAML{shape} {query}", text.len());
        let items = memchr::memmem::find_iter(&text, "\n- ").count();
        let heads = if *shape == TABLE_PARAMS { text.windows(11).take(4096).filter(|word| word == b"description").count() } else { 0 };
        listed.push((shape, query, items - heads));
    }
    // It is longer than what is held until its length is known.
    let (bytes, needed) = measured(&server, &format!("{pods}?limit=1000000"), "application/vnd.kubernetes.protobuf");
    assert!(bytes.len() > 16 << 20 && needed < MAX_HEAP_BYTES, "{needed} bytes for {} of protobuf", bytes.len());
    let decoder = Decoder::for_stored_values().with_release(Release::NEWEST);
    let Body::Object(list) = decoder.decode(b"", &bytes, 0).body else { panic!("no list") };
    let wanted = list.into_value()["items"].as_array().map_or(0, Vec::len);
    assert!(wanted >= POD_COUNT, "{wanted} pods");
    assert!(listed.iter().all(|(.., count)| *count == wanted), "{wanted} pods: {listed:?}");
}

/// The two longest, one of each way to ask for a list.
#[test]
fn no_answer_is_held() {
    are_not_held(&[(OBJECTS_PARAMS, WHOLE_PARAMS), (TABLE_PARAMS, PAGE_PARAMS)]);
}

#[test]
fn no_answer_of_any_shape_is_held_nightly() {
    are_not_held(&[OBJECTS_PARAMS, TABLE_PARAMS, METADATA_PARAMS].map(|shape| [(shape, WHOLE_PARAMS), (shape, PAGE_PARAMS)]).concat());
}
