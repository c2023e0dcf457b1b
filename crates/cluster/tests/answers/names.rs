//! Words without a kind: what they may mean, the likeliest first.

use ketcd_cluster::not_found::WithoutKind;
use ketcd_cluster::read::Keys;
use ketcd_cluster::{Error, Options};

use crate::fixture::{at_revision, capture, of_namespace};

/// What the words mean, as the error of an address says it.
async fn meant(options: Options, words: &str) -> WithoutKind {
    let cluster = capture("k120-story", options).await;
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    match Keys::of(&cluster, &words).await {
        Err(Error::WithoutKind(without)) => *without,
        other => panic!("{words:?}: {other:?}"),
    }
}

fn addresses(without: &WithoutKind) -> Vec<String> {
    without.called.places.iter().map(|place| place.address()).collect()
}

#[tokio::test]
async fn a_name_is_what_is_called_so() {
    let tomcat = meant(Options::default(), "tomcat").await;
    assert_eq!(addresses(&tomcat)[0], "deploy/web/tomcat");
    assert_eq!((tomcat.word.as_str(), tomcat.to_string().as_str()), ("tomcat", "no kind is called \"tomcat\""));
    for (words, first) in [
        ("crasher", "pod/web/crasher"),
        ("web", "namespace/web"),
        ("node2", "node/node2"),
        ("web/crasher", "pod/web/crasher"),
        ("web/pod/crasher", "pod/web/crasher"),
        ("pods,crasher", "pod/web/crasher"),
        ("crasher tomcat", "pod/web/crasher"),
    ] {
        let found = meant(Options::default(), words).await;
        assert_eq!(addresses(&found)[0], first, "{words}");
        assert!(!found.called.is_near && found.called.revision.is_none(), "{words}");
    }
}

#[tokio::test]
async fn the_namespace_looked_at_comes_first() {
    assert_eq!(addresses(&meant(of_namespace("lab"), "ubuntu").await), ["pod/lab/ubuntu"]);
    // It is nowhere else, so another namespace is named.
    assert_eq!(addresses(&meant(of_namespace("lab"), "crasher").await), ["pod/web/crasher"]);
}

#[tokio::test]
async fn a_name_that_is_nearly_right_or_gone_is_found() {
    let near = meant(Options::default(), "crahser").await;
    assert!(near.called.is_near && addresses(&near) == ["pod/web/crasher"], "{near:?}");
    let gone = meant(Options::default(), "tomcat-7f6f6db99b-jr4fc").await;
    assert_eq!(addresses(&gone), ["pod/web/tomcat-7f6f6db99b-jr4fc"]);
    assert!(gone.called.revision.is_some_and(|revision| revision.0 > 1350), "{gone:?}");
    assert_eq!(meant(at_revision(1350), "tomcat-7f6f6db99b-jr4fc").await.called.revision, None);
}

#[tokio::test]
async fn what_nothing_is_called_stays_an_unknown_kind() {
    let cluster = capture("k120-story", Options::default()).await;
    for word in ["zzzzzzzzzz", "nosuch/zzzzzzzzzz", "pood"] {
        let found = Keys::of(&cluster, &[word.to_owned()]).await;
        assert!(matches!(found, Err(Error::Address(_))), "{word}: {found:?}");
    }
}
