//! `ketcd --link URL`: what a link of the page shows, as the command shows it; what no page writes is refused before anything is read.

use std::path::{Path, PathBuf};

use crate::ketcd::{all, ketcd};

fn capture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures/k120-story/snapshot.db.zst")
}

#[test]
fn a_link_prints_what_its_command_prints() {
    let file = capture();
    let file = file.to_str().unwrap();
    let page = "http://127.0.0.1:8080/ui/#token=0123456789abcdef&";
    for (fragment, command) in [
        ("", "triage"),
        ("at=r812&title=Monday&zone=local", "triage --rev 812"),
        ("at=2026-11-20T22:20:30.000Z", "triage --at 22:20:30"),
        (
            "from=2026-11-20T22:16:00Z&to=2026-11-20T22:17:00Z&kind=Pod&namespace=web",
            "timeline pod -n web --since 22:16:00 --until 22:17:00",
        ),
        ("view=changed&a=r600&b=r800", "diff --rev 600..800"),
        ("object=pod/lab/ubuntu&at=r900", "timeline pod/lab/ubuntu --until 900"),
        ("object=deployment/web/tomcat&tab=yaml&at=r600", "blame deployment/web/tomcat --rev 600"),
        ("object=deployment/web/tomcat&tab=diff&a=r600&b=r800", "diff deployment/web/tomcat --rev 600..800"),
        ("object=deployment/web/tomcat&tab=diff&at=r800", "history deployment/web/tomcat --diff --until 800"),
        ("object=pod/web/crasher&tab=events", "events pod/web/crasher"),
        ("object=deployment/web/tomcat&tab=related", "tree deployment/web/tomcat"),
        ("object=pod/lab/spread-5&tab=decision&pick=node2", "explain pod/lab/spread-5 --node node2"),
        ("object=node/node2&tab=node&at=r1300", "describe node/node2 --rev 1300"),
    ] {
        let linked = ketcd().args(["-f", file, "--link", &format!("{page}{fragment}")]).output().unwrap();
        let asked = ketcd().args(["-f", file]).args(command.split(' ')).output().unwrap();
        assert!(
            !linked.stdout.is_empty() && linked.stdout == asked.stdout && linked.status == asked.status,
            "{fragment}: {}",
            all(&linked)
        );
        let said = String::from_utf8(linked.stderr).unwrap();
        assert!(said.contains("the link shows: ketcd -f ") && !said.contains("0123456789abcdef"), "{fragment}: {said}");
    }
}

#[test]
fn flags_of_every_command_hold_and_filters_without_a_flag_are_told() {
    let file = capture();
    let file = file.to_str().unwrap();
    let json = ketcd().args(["-f", file, "-o", "json", "--link=#object=pod/web/crasher&tab=events"]).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(json.is_object(), "{json}");
    let limited = ketcd().args(["-f", file, "--link", "#kind=Pod&q=crash&message=back-off"]).output().unwrap();
    let said = String::from_utf8_lossy(&limited.stderr).into_owned();
    assert!(limited.status.success() && said.contains("not limited by crash message:back-off"), "{said}");
}

#[test]
fn what_no_page_writes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("written");
    let target = target.to_str().unwrap();
    for link in [
        &format!("#object=--out%3D{target}") as &str,
        &format!("#kind=--out%3D{target}"),
        &format!("#object=pod/a/b&out={target}"),
        "#object=pod/web/a%0Atriage",
        "#object=pod/web/a%1b%5B2J",
        "#at=10m",
        "#tab=__proto__&object=pod/web/a",
        "javascript:alert(1)#at=r5",
        "/etc/passwd",
        "",
    ] {
        let output = ketcd().args(["-f", "/nonexistent", "--link", link]).output().unwrap();
        // The empty link is the page as at first: only the file is missing.
        assert_eq!(output.status.code(), Some(2), "{link}: {}", all(&output));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(link.is_empty() || said.contains("--link <URL>"), "{link}: {said}");
        assert!(!said.contains('\u{1b}') && !Path::new(target).exists(), "{link}: {said}");
    }
    for line in ["--link", "--link # triage", "get pods --link #"] {
        let output = ketcd().args(line.split(' ')).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {}", all(&output));
        assert!(output.stdout.is_empty() && String::from_utf8_lossy(&output.stderr).contains("--link"), "{line}: {}", all(&output));
    }
}
