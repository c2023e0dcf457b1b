//! docs/limits.md, docs/comparison.md and docs/faq.md: each point, row and answer names the test of what it says about ketcd, or why none is needed.

use std::fs;

use super::root;

/// What holds a sentence.
enum Held {
    /// The test of this name in this file.
    By(&'static str, &'static str),
    /// Nothing of ketcd is promised: why.
    Nothing(&'static str),
}
use Held::{By, Nothing};

const OTHERS: Held = Nothing("about other programs");

const LIMITS: &[(&str, Held)] = &[
    ("On a live etcd, and in a snapshot of one", By("tests/live/source.rs", "a_compaction_is_a_gap_and_the_span_begins_behind_it")),
    (
        "Further back as far as free pages",
        By("crates/store/tests/files/database.rs", "what_compaction_removed_is_found_in_free_pages_and_true"),
    ),
    ("API objects from kubectl are one moment", By("tests/cli/objects.rs", "what_one_moment_cannot_answer_is_refused")),
    ("Every kind of Kubernetes", By("tests/truth/decoding.rs", "values_of_every_kind_equal_upstreams_json")),
    ("Fields of a newer release", By("tests/cli/listing.rs", "unknown_fields_are_counted_whatever_the_command")),
    (
        "A custom resource that needs a conversion webhook",
        By("tests/cli/objects.rs", "a_custom_resource_that_a_webhook_converts_is_shown_as_it_is_stored"),
    ),
    ("OpenShift's own kinds", By("crates/kube/tests/upstream/encoding.rs", "values_of_openshift_are_upstreams_bytes")),
    ("Encryption at rest:", By("crates/kube/src/encryption/tests.rs", "kms_v1_stays_closed_with_every_key_and_plugin")),
    ("kube-scheduler 1.9 to", By("crates/scheduler/src/config/tests/sets.rs", "extenders_are_reported")),
    (
        "The default configuration is assumed",
        By("tests/cli/companions.rs", "decisions_are_evaluated_with_the_configuration_next_to_the_database"),
    ),
    ("Decisions that overlapped in time", By("tests/truth/captures.rs", "every_recorded_attempt_is_evaluated_as_the_scheduler_did")),
    ("`extract` prints manifests.", By("tests/live/read_only.rs", "the_binary_holds_no_call_that_writes")),
    ("Content of volumes", Nothing("about etcd")),
    ("The result was applied", Nothing("what tools/restore was run with")),
];

const COMPARISON: &[(&str, Held)] = &[
    ("What is there now?", By("tests/truth/decoding.rs", "objects_of_1_36_equal_the_api_servers")),
    ("… with the API server down", By("tests/live/equality.rs", "k136_story")),
    ("… with etcd down", By("crates/store/tests/files/db/damage.rs", "a_damaged_database_shows_what_is_true_or_marked")),
    ("What was there ten minutes ago?", By("tests/live/source.rs", "a_compaction_is_a_gap_and_the_span_begins_behind_it")),
    ("… last month?", By("tests/cli/export/mod.rs", "a_later_snapshot_adds_what_is_new")),
    ("What changed, field by field?", By("tests/cli/window.rs", "differences_are_between_times_as_between_revisions")),
    (
        "Which **user** did it?",
        By("crates/cluster/tests/answers/audit.rs", "a_log_with_bodies_names_nearly_every_author_and_every_write_past_the_api_server"),
    ),
    ("Container and node logs in the same view", Nothing("ketcd has none")),
    ("Why does this pod run there, or nowhere?", By("tests/truth/captures.rs", "every_recorded_attempt_is_evaluated_as_the_scheduler_did")),
    ("Change an object", By("tests/live/read_only.rs", "the_binary_holds_no_call_that_writes")),
    ("Save, restore, defragment, add members", By("tests/live/read_only.rs", "the_binary_holds_no_call_that_writes")),
    ("Get manifests back out of a snapshot", By("tests/cli/extract.rs", "a_namespace_is_extracted_without_what_the_cluster_makes_again")),
    ("Needs", By("tests/live/equality.rs", "the_file_of_a_running_etcd")),
    ("**kubectl** while", By("tests/serve/kubectl.rs", "kubectl_prints_what_get_prints")),
    ("**etcdctl and etcdutl** to", By("tests/live/complete.rs", "the_environment_names_etcd")),
    ("**auger** to", By("tests/live/written.rs", "the_file_is_read_while_it_is_written")),
    (
        "**[KHI]",
        By("crates/cluster/tests/answers/audit.rs", "a_log_with_bodies_names_nearly_every_author_and_every_write_past_the_api_server"),
    ),
    ("**ketcd** if", By("tests/live/killed.rs", "a_killed_member_tells_nothing_that_was_denied")),
];

const FAQ: &[(&str, Held)] = &[
    ("Can it break my cluster?", By("tests/live/read_only.rs", "the_binary_holds_no_call_that_writes")),
    ("May I read the database of a running etcd?", By("tests/live/written.rs", "the_file_is_read_while_it_is_written")),
    ("I have no etcd: EKS, GKE, AKS.", By("tests/cli/objects.rs", "every_command_takes_objects")),
    ("Why does it show only ten minutes?", Nothing("about API servers")),
    ("Who is `kubectl-client-side-apply`?", OTHERS),
    (
        "Why is a pod `Running` on a node that is dead?",
        By("tests/cli/engineers.rs", "one_asks_when_a_node_died_and_what_became_of_its_pods"),
    ),
    ("Does it show my Secrets?", By("tests/live/secrets.rs", "no_command_shows_a_secret")),
    ("Is a time exact?", By("crates/history/src/clock/tests.rs", "every_revision_lies_within_its_bound")),
    (
        "`explain` disagrees with my scheduler.",
        By("tests/cli/companions.rs", "decisions_are_evaluated_with_the_configuration_next_to_the_database"),
    ),
    ("My Kubernetes is newer than", By("tests/cli/decode.rs", "a_value_is_read_as_the_newest_release_that_has_all_of_its_fields")),
    ("Can I use it in scripts?", By("tests/contracts/stability.rs", "commands_exit_with_the_codes_that_the_page_lists")),
    ("kubectl prints something else.", By("tests/serve/kubectl.rs", "kubectl_prints_what_get_prints")),
    ("How do I keep history?", By("tests/live/record.rs", "a_recording_through_kills_is_etcds_history_on_the_default_release")),
    ("Is there a library?", By("tests/contracts/libraries.rs", "each_library_says_what_a_registry_shows_and_has_an_example")),
    ("Does it phone home?", By("tests/web/main.rs", "the_page_runs_its_own_script_alone_and_asks_no_network")),
];

/// The points, rows and questions of a page: what follows `- `, `| ` or `**` at the beginning of a line.
fn points(page: &str) -> Vec<&str> {
    page.lines().filter_map(|line| line.strip_prefix("- ").or_else(|| line.strip_prefix("| ")).or_else(|| question(line))).collect()
}

fn question(line: &str) -> Option<&str> {
    line.strip_prefix("**")?.strip_suffix("**")
}

/// Asserts that each point of a page is held, and that what holds it is there.
fn hold(page: &str, held: &[(&str, Held)], skipped: &[&str]) {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let points = points(&text);
    for point in points.iter().filter(|point| !skipped.iter().any(|of| point.starts_with(of))) {
        assert!(held.iter().any(|(begin, _)| point.starts_with(begin)), "{page}: {point:?} is held by nothing");
    }
    for (begin, by) in held {
        assert!(points.iter().any(|point| point.starts_with(begin)), "{page} does not say {begin:?}");
        match by {
            By(file, test) => {
                let tests = fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
                assert!(tests.contains(&format!("fn {test}(")), "{begin:?}: {file} has no test {test}");
            }
            Nothing(why) => assert!(!why.is_empty()),
        }
    }
}

/// Rows of the table of numbers, which `limits` holds.
fn numbers(page: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    text.lines().filter_map(|line| Some(line.strip_prefix("| ")?.to_owned())).collect()
}

#[test]
fn limits_are_held() {
    let numbers = numbers("docs/limits.md");
    hold("docs/limits.md", LIMITS, &numbers.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn the_comparison_is_held() {
    hold("docs/comparison.md", COMPARISON, &["question |"]);
}

#[test]
fn answers_to_questions_are_held() {
    hold("docs/faq.md", FAQ, &[]);
}
