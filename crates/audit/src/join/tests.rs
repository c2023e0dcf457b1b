use jiff::SignedDuration;

use super::*;
use crate::authorship::Unexplained;
use crate::change::Stamp;
use crate::request::{Level, RequestTarget};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_795_545_000 + second).unwrap()
}

/// A change of the ConfigMap `name` within two seconds of `second`.
fn change(revision: i64, name: &str, did: Did, second: i64) -> ChangeFacts {
    ChangeFacts {
        revision,
        sub_revision: 0,
        group: "".into(),
        resource: "configmaps".into(),
        namespace: "shop".into(),
        name: name.into(),
        did,
        previous: None,
        earliest: Some(at(second - 2)),
        latest: Some(at(second + 2)),
        uid: None,
        is_same: false,
        is_misplaced: false,
        is_expired: false,
        marks_deletion: false,
        was_marked: false,
        ends_grace: false,
        had_finalizers: false,
        binds: false,
        has_generated_name: false,
        has_managers: true,
        stamps: Vec::new(),
    }
}

/// A request for it that took a tenth of a second.
fn request(user: &str, verb: Verb, name: &str, second: i64) -> Request {
    Request {
        audit_id: format!("{user}-{second}").into(),
        verb,
        user: user.into(),
        impersonator: None,
        user_agent: "kubectl/v1".into(),
        source_ips: Vec::new(),
        target: RequestTarget { resource: "configmaps".into(), namespace: "shop".into(), name: name.into(), ..RequestTarget::default() },
        received: at(second),
        completed: at(second) + SignedDuration::from_millis(100),
        is_open: false,
        doubt: SignedDuration::ZERO,
        code: if verb == Verb::Create { 201 } else { 200 },
        reason: None,
        dry_run: false,
        manager: Some("kubectl".into()),
        level: Level::Metadata,
        names_revision: None,
        based_on: None,
        uid: None,
        deleted: None,
        answers_status: false,
        selects: false,
        bodies: None,
    }
}

/// What is found, a word and the users for each change.
fn found(changes: Vec<ChangeFacts>, requests: Vec<Request>) -> Vec<String> {
    let revisions: Vec<i64> = changes.iter().map(|change| change.revision).collect();
    let span = LogSpan { from: at(-100), to: at(1000) };
    let authors = Join::new(changes, requests.into_iter().map(Arc::new).collect(), Some(span)).authors();
    let word = |revision: i64| match authors.of(revision, 0) {
        None => "nothing".to_owned(),
        Some(Authorship::Unexplained(why)) => format!("{why:?}"),
        Some(found) => {
            let users: Vec<&str> = found.requests().iter().map(|request| &*request.user).collect();
            let word = match found {
                Authorship::Exact(_) => "exact",
                Authorship::Attributed(_) => "attributed",
                _ => "candidates",
            };
            format!("{word} {}", users.join(" "))
        }
    };
    revisions.into_iter().map(word).collect()
}

#[test]
fn an_answer_that_names_the_revision_is_exact_and_a_later_one_changed_nothing() {
    let named = |request: Request, revision: i64| Request { names_revision: Some(revision), ..request };
    let requests = vec![
        named(request("alice", Verb::Patch, "a", 10), 5),
        named(request("bob", Verb::Patch, "a", 11), 5),
        named(request("carol", Verb::Patch, "a", 30), 6),
    ];
    let changes = vec![change(5, "a", Did::Write, 10), change(6, "a", Did::Write, 30)];
    assert_eq!(found(changes, requests), ["exact alice", "exact carol"]);
}

/// The kubelet's request is logged without its answer, and somebody is answered with its revision right after it.
#[test]
fn an_answer_does_not_make_an_author_of_whom_the_change_does_not_name() {
    let stamp = Stamp { manager: "kubelet".into(), subresource: "status".into(), time: at(10) };
    let write = ChangeFacts { stamps: vec![stamp], ..change(5, "a", Did::Write, 10) };
    let unchanged = Request { names_revision: Some(5), ..request("alice", Verb::Patch, "a", 10) };
    assert_eq!(found(vec![write.clone()], vec![unchanged.clone()]), ["candidates alice"]);
    let of_kubelet = request("node", Verb::Patch, "a", 10);
    let target = RequestTarget { subresource: "status".into(), ..of_kubelet.target.clone() };
    let kubelet = Request { manager: Some("kubelet".into()), target, ..of_kubelet };
    assert_eq!(found(vec![write], vec![unchanged, kubelet]), ["attributed node"]);
}

#[test]
fn one_request_that_fits_is_attributed_and_several_are_candidates() {
    let requests = vec![request("alice", Verb::Patch, "a", 10), request("bob", Verb::Patch, "a", 11), request("bob", Verb::Patch, "b", 10)];
    let changes = vec![change(4, "b", Did::Write, 10), change(5, "a", Did::Write, 10), change(7, "a", Did::Write, 11)];
    assert_eq!(found(changes, requests), ["attributed bob", "candidates alice bob", "candidates alice bob"]);
}

#[test]
fn what_is_known_of_others_bounds_the_time() {
    // The creation between the two can only be one request's, so that each write has one left.
    let requests =
        vec![request("alice", Verb::Patch, "a", 10), request("carol", Verb::Create, "b", 11), request("bob", Verb::Patch, "a", 12)];
    let changes = vec![change(5, "a", Did::Write, 11), change(6, "b", Did::Create, 11), change(7, "a", Did::Write, 11)];
    assert_eq!(found(changes, requests), ["attributed alice", "attributed carol", "attributed bob"]);
}

#[test]
fn a_collection_without_its_list_is_a_candidate_and_with_it_an_author() {
    let of_all = request("alice", Verb::DeleteCollection, "", 10);
    let listed = |name: &str| Request { deleted: Some([name.into()].into()), ..of_all.clone() };
    let deletion = || vec![change(5, "a", Did::Delete, 10)];
    assert_eq!(found(deletion(), vec![of_all.clone()]), ["candidates alice"]);
    assert_eq!(found(deletion(), vec![listed("a")]), ["attributed alice"]);
    assert_eq!(found(deletion(), vec![listed("b")]), ["nothing"]);
}

#[test]
fn who_ends_a_grace_also_removed_the_pod() {
    let ends = ChangeFacts { marks_deletion: true, was_marked: true, ends_grace: true, ..change(5, "a", Did::Write, 10) };
    let removed = ChangeFacts { was_marked: true, ..change(6, "a", Did::Delete, 10) };
    assert_eq!(found(vec![ends, removed], vec![request("kubelet", Verb::Delete, "a", 10)]), ["attributed kubelet", "attributed kubelet"]);
}

#[test]
fn who_removes_the_last_finalizer_deletes_the_object() {
    let removed = ChangeFacts { was_marked: true, had_finalizers: true, previous: Some(5), ..change(6, "a", Did::Delete, 10) };
    let last = Request { names_revision: Some(5), based_on: Some(5), ..request("controller", Verb::Update, "a", 10) };
    assert_eq!(found(vec![removed.clone()], vec![last.clone()]), ["attributed controller"]);
    assert_eq!(found(vec![removed], vec![Request { based_on: Some(4), ..last }]), ["nothing"]);
}

#[test]
fn a_change_is_unexplained_only_where_the_log_would_hold_its_request() {
    let explained = |deleted: Did| -> (Vec<ChangeFacts>, Vec<Request>) {
        let changes = (0..12).map(|place| change(10 + place, &format!("c{place}"), deleted, 10 * place)).collect();
        let verb = if deleted == Did::Delete { Verb::Delete } else { Verb::Patch };
        let requests = (0..12).map(|place| request("alice", verb, &format!("c{place}"), 10 * place)).collect();
        (changes, requests)
    };
    let last = |(mut changes, requests): (Vec<ChangeFacts>, Vec<Request>), change: ChangeFacts| {
        changes.push(change);
        found(changes, requests).pop().unwrap()
    };
    let deletion = || change(50, "x", Did::Delete, 130);
    assert_eq!(last(explained(Did::Delete), deletion()), format!("{:?}", Unexplained::NoRequest));
    // Its lease ran out; or it was after the end of the log.
    assert_eq!(last(explained(Did::Delete), ChangeFacts { is_expired: true, ..deletion() }), "nothing");
    assert_eq!(last(explained(Did::Delete), change(50, "x", Did::Delete, 2000)), "nothing");
    // The policy leaves out another resource as a whole.
    let mut of_policy = explained(Did::Delete);
    of_policy.0.extend((0..5).map(|place| ChangeFacts { resource: "events".into(), ..change(40 + place, "e", Did::Write, 125) }));
    assert_eq!(last(of_policy, ChangeFacts { resource: "events".into(), ..deletion() }), "nothing");
    // The same bytes again, and a value of another object, are never an API server's.
    let same = ChangeFacts { is_same: true, ..change(50, "c1", Did::Write, 130) };
    assert_eq!(last(explained(Did::Write), same), format!("{:?}", Unexplained::SameBytes));
    let misplaced = ChangeFacts { is_misplaced: true, ..change(50, "ghost", Did::Create, 130) };
    assert_eq!(last(explained(Did::Write), misplaced), format!("{:?}", Unexplained::Misplaced));
}

#[test]
fn a_missing_part_of_the_log_accuses_nobody_and_is_named() {
    let changes: Vec<ChangeFacts> = (0..60).map(|place| change(10 + place, &format!("c{place}"), Did::Write, 10 * place)).collect();
    let is_there = |place: &i64| !(20..40).contains(place);
    let requests =
        (0..60).filter(is_there).map(|place| Arc::new(request("alice", Verb::Patch, &format!("c{place}"), 10 * place))).collect();
    let span = LogSpan { from: at(-100), to: at(1000) };
    let authors = Join::new(changes, requests, Some(span)).authors();
    assert_eq!((authors.counts(), authors.gaps()), ([0, 40, 0, 0], &[(30, 49)][..]));
}

#[test]
fn several_in_a_row_and_damaged_lines_speak_for_an_incomplete_log() {
    let changes: Vec<ChangeFacts> = (0..40).map(|place| change(10 + place, &format!("c{place}"), Did::Write, 10 * place)).collect();
    let is_there = |place: &i64| !(20..24).contains(place) && *place != 30;
    let requests: Vec<_> =
        (0..40).filter(is_there).map(|place| Arc::new(request("alice", Verb::Patch, &format!("c{place}"), 10 * place))).collect();
    let span = LogSpan { from: at(-100), to: at(1000) };
    let unexplained =
        |holes: Vec<LogSpan>| Join::new(changes.clone(), requests.clone(), Some(span)).with_holes(holes).authors().unexplained_changes();
    let row = (30..34).map(|revision| (revision, 0, Unexplained::NoRequests));
    assert_eq!(unexplained(Vec::new()), row.clone().chain([(40, 0, Unexplained::NoRequest)]).collect::<Vec<_>>());
    assert!(Unexplained::NoRequest.is_bypass() && !Unexplained::NoRequests.is_bypass());
    // The line of the last one may be the one that is damaged.
    assert_eq!(unexplained(vec![LogSpan { from: at(299), to: at(301) }]), row.collect::<Vec<_>>());
}

#[test]
fn clocks_that_differ_are_found_and_allowed_for() {
    let named = |second: i64, revision: i64| Request { names_revision: Some(revision), ..request("alice", Verb::Patch, "a", second) };
    // Every other revision was written by an API server whose clock is five seconds ahead.
    let requests: Vec<Request> = (0..20).map(|place| named(2 * place + if place % 2 == 0 { 0 } else { 5 }, 10 + place)).collect();
    let changes: Vec<ChangeFacts> = (0..20).map(|place| change(10 + place, "a", Did::Write, 2 * place)).collect();
    let requests = requests.into_iter().map(Arc::new).collect();
    let authors = Join::new(changes, requests, Some(LogSpan { from: at(-100), to: at(1000) })).authors();
    assert!(authors.clocks_differ() > 2.0, "{}", authors.clocks_differ());
    assert_eq!(authors.counts()[0], 20);
}

/// With a look at each request for each change, this would take hours.
#[test]
fn an_object_that_is_written_very_often_is_joined_in_one_pass() {
    const WRITE_COUNT: i64 = 100_000;
    let changes = (0..WRITE_COUNT).map(|number| change(10 + number, "a", Did::Write, 100 * number)).collect();
    let requests = (0..WRITE_COUNT)
        .map(|number| Arc::new(Request { names_revision: Some(10 + number), ..request("alice", Verb::Update, "a", 100 * number) }));
    let authors = Join::new(changes, requests.collect(), None).authors();
    assert_eq!(authors.counts(), [WRITE_COUNT as usize, 0, 0, 0]);
}
