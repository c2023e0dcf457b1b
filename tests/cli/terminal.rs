//! What a terminal shows: nothing wider than it is, and each decision on one screen.

use std::io::{PipeWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// What ketcd writes to a terminal of this many columns, without its styles.
fn shown(columns: u16, arguments: &[&str]) -> String {
    let (text, status) = crate::pty::run(columns, Command::new(env!("CARGO_BIN_EXE_ketcd")).args(arguments));
    assert_eq!(status.code(), Some(0), "{arguments:?}: {text}");
    assert!(text.contains('\u{1b}'), "a terminal is shown colours");
    anstream::adapter::strip_str(&text).to_string().replace('\r', "")
}

fn capture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(name).join("snapshot.db.zst");
    path.to_str().unwrap().to_owned()
}

#[track_caller]
fn narrow(text: &str, columns: u16) {
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > usize::from(columns)).collect();
    assert!(wide.is_empty(), "{} lines are wider than {columns} columns, the first:\n{}", wide.len(), wide[0]);
}

/// How many lines the longest decision takes, and which it is.
fn longest(text: &str) -> (usize, &str) {
    let heads =
        |line: &&str| line.contains('/') && [" → ", " waits", " is gated"].iter().any(|what| line.contains(what)) && !line.starts_with(' ');
    let lines: Vec<&str> = text.lines().collect();
    let mut starts: Vec<usize> = (0..lines.len()).filter(|at| heads(&lines[*at])).collect();
    assert!(starts.len() > 20, "{} decisions", starts.len());
    starts.push(lines.len());
    starts.windows(2).map(|pair| (pair[1] - pair[0], lines[pair[0]])).max().unwrap()
}

/// Every decision of a cluster fits a terminal, and takes not much more than a screen.
fn all_decisions_fit(name: &str, widths: &[u16]) {
    let file = capture(name);
    for &columns in widths {
        let text = shown(columns, &["explain", "--all", "-f", &file]);
        narrow(&text, columns);
        if columns >= 80 {
            let (lines, which) = longest(&text);
            // A recorded sentence is never cut, and can take nine of them.
            assert!(lines <= 50, "{name} at {columns} columns: {lines} lines for {which}");
        }
    }
}

#[test]
fn explanations_fit_the_terminal() {
    all_decisions_fit("k136-story", &[60, 80, 120]);
    all_decisions_fit("k136-random", &[80]);
}

#[test]
fn explanations_fit_the_terminal_in_large_clusters_nightly() {
    all_decisions_fit("k136-random", &[60, 120]);
    all_decisions_fit("k120-random", &[60, 80, 120]);
}

#[test]
fn one_node_in_depth_fits_the_terminal() {
    let file = capture("k136-random");
    for columns in [60, 120] {
        narrow(&shown(columns, &["explain", "pod/shop/api-0179", "--node", "n03", "-f", &file]), columns);
    }
}

#[test]
fn timelines_fit_the_terminal() {
    for (columns, name) in [(80, "k136-story"), (120, "k120-story")] {
        narrow(&shown(columns, &["timeline", "-A", "-f", &capture(name)]), columns);
    }
}

/// What a command writes to a terminal of 80 columns, however it ends.
fn on_80_columns(arguments: &[&str]) -> String {
    let (text, status) = crate::pty::run(80, crate::ketcd::ketcd().args(arguments));
    assert!(status.code().is_some_and(|code| code <= 2) && !text.trim().is_empty(), "{arguments:?}: {text}");
    anstream::adapter::strip_str(&text).to_string().replace('\r', "")
}

/// Every command about a cluster fits.
fn commands_fit_80_columns(name: &str) {
    // Not among them: tables of `ls` and `get`, as kubectl cuts none, and documents (YAML, JSON), which are data.
    let commands = [
        "status",
        "encryption",
        "history node/node1",
        "history node/node1 --diff",
        "history pods -A --diff",
        "history --all",
        "history --all --diff --all-fields",
        "timeline node/node1",
        "timeline node/node1 -o wide",
        "timeline pod/lab/ubuntu",
        "timeline deployments -A",
        "timeline -n lab",
        "explain pods -A",
        "explain pod/lab/ubuntu",
        "explain pod/lab/ubuntu -o wide",
        "blame node/node1",
        "grep tomcat:8.0",
        "grep -e . pods -n web",
        "blame pod/lab/ubuntu --rev 370",
        "diff --rev 300..700",
        "diff --rev 300..700 --all-fields",
        "watch nodes --from-rev 300",
        "watch pods -A --from-rev 300 --diff",
        // Errors and notes; a command to copy is on a line of its own and never broken.
        "get pod/default/ubuntu",
        "get pod/lab/nope",
        "get pod/lab/ubuntu -o foo",
        "ls pods --rev 99999",
        "ls pods --at yesterday",
        "diff",
        "report --out /nowhere/page.html",
    ];
    let file = capture(name);
    for command in commands {
        let arguments: Vec<&str> = ["-f", &file].into_iter().chain(command.split(' ')).collect();
        let text = on_80_columns(&arguments);
        let text: String = text.lines().filter(|line| !line.starts_with("    ketcd ")).map(|line| format!("{line}\n")).collect();
        narrow(&text, 80);
    }
}

#[test]
fn every_command_fits_80_columns() {
    commands_fit_80_columns("k120-story");
}

#[test]
fn every_command_fits_80_columns_with_a_newer_cluster_nightly() {
    commands_fit_80_columns("k136-story");
}

#[test]
fn help_and_plugins_fit_80_columns() {
    let mut commands = vec![
        "--help".to_owned(),
        "-h".to_owned(),
        "help flags".to_owned(),
        "plugins".to_owned(),
        "schema".to_owned(),
        "plugins nope".to_owned(),
    ];
    for command in ketcd::command().get_subcommands() {
        commands.extend([format!("{} --help", command.get_name()), format!("{} -h", command.get_name())]);
    }
    let plugins = ["NodeResourcesFit", "PodTopologySpread", "VolumeBinding", "InterPodAffinity", "DynamicResources"];
    commands.extend(plugins.map(|name| format!("plugins {name}")));
    for command in commands {
        narrow(&on_80_columns(&command.split(' ').collect::<Vec<_>>()), 80);
    }
}

#[test]
fn nothing_is_lost_where_lines_are_broken() {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let piped = |arguments: &[&str]| String::from_utf8(crate::ketcd::ketcd().args(arguments).output().unwrap().stdout).unwrap();
    let file = capture("k120-story");
    for arguments in [&["plugins", "PodTopologySpread"][..], &["plugins"], &["-f", &file, "status"], &["-f", &file, "encryption"]] {
        assert_eq!(words(&on_80_columns(arguments)), words(&piped(arguments)), "{arguments:?}");
    }
}

#[test]
fn the_first_page_fits_a_small_terminal_and_its_examples_are_commands() {
    let (text, status) = crate::pty::run(80, &mut crate::ketcd::ketcd());
    let page = text.replace('\r', "");
    narrow(&page, 80);
    // The prompt takes the last of 24 lines.
    assert!(page.lines().count() < 24 && status.code() == Some(2), "{} lines:\n{page}", page.lines().count());
    let examples: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    assert_eq!(examples.len(), 4);
    for example in examples {
        ketcd::command().try_get_matches_from(example.split(' ')).unwrap();
    }
    let output = crate::ketcd::ketcd().output().unwrap();
    assert_eq!((output.stdout.as_slice(), String::from_utf8(output.stderr).unwrap()), (&b""[..], page));

    // A flag without a command still is clap's error, and the help says all.
    let output = crate::ketcd::ketcd().args(["-n", "lab"]).output().unwrap();
    assert!(output.status.code() == Some(2) && String::from_utf8(output.stderr).unwrap().contains("subcommand"));
    for (arguments, headings) in [
        (&["--help"][..], &["Look:", "What happened:", "Why:", "Keep:", "Source:"][..]),
        (&["help", "flags"], &["Options:", "Source:", "Live etcd:", "Selection:", "Output:"]),
        (&["flags"], &["Options:", "Source:", "Live etcd:", "Selection:", "Output:"]),
    ] {
        let output = crate::ketcd::ketcd().args(arguments).output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        for heading in headings {
            assert!(help.lines().any(|line| line == *heading), "{heading}: {help}");
        }
    }
}

/// A reading of more than a second says on a terminal what it waits for, erases that before the answer, and says nothing into a pipe.
#[test]
fn what_takes_long_is_said_on_a_terminal_alone() {
    let listing = || {
        let (input, feeder) = std::io::pipe().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ketcd"));
        command.args(["-f", "-", "ls", "nodes"]).stdin(input);
        (command, feeder)
    };
    let feed = |mut feeder: PipeWriter| {
        let bytes = std::fs::read(capture("k136-story")).unwrap();
        std::thread::spawn(move || feeder.write_all(&bytes).unwrap());
    };
    // One that says nothing waits for as long as one that does.
    let (mut piped, feeder_of_piped) = listing();
    let piped = piped.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut command, feeder) = listing();
    let mut feeder = Some(feeder);
    let (text, status) = crate::pty::watched(80, &mut command, |text| {
        if text.contains("opening -, ") {
            feeder.take().into_iter().for_each(&feed);
        }
    });
    let answer = text.find("NAME").unwrap_or_else(|| panic!("{status}: {text}"));
    let said = text[..answer].rfind("opening -, ").unwrap_or_else(|| panic!("{text}"));
    assert!(text[said..answer].contains("\u{1b}[2K"), "it is erased: {text:?}");
    feed(feeder_of_piped);
    let output = piped.wait_with_output().unwrap();
    assert!(output.stdout.starts_with(b"NAME") && output.stderr.is_empty(), "{output:?}");
}

/// The terminal shows the output and the messages: what `status` prints as a problem is no message too.
#[test]
fn a_problem_that_status_prints_is_said_once() {
    let mut database = ketcd_testing::testdata::read("captures/k120-story/snapshot.db.zst");
    let last = database.len() - 1;
    database[last] ^= 1;
    let file = ketcd_testing::temporary::file(database);
    let (text, status) =
        crate::pty::run(200, Command::new(env!("CARGO_BIN_EXE_ketcd")).arg("-f").arg(file.path()).args(["status", "--no-pager"]));
    let text = anstream::adapter::strip_str(&text).to_string();
    assert_eq!((status.code(), text.matches("the SHA-256 at its end does not match").count()), (Some(2), 1), "{text}");
}

#[test]
fn an_interrupted_command_leaves_no_line_of_progress() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let line = format!(
        "echo $$ > {}; exec {} --endpoints {endpoint} --dial-timeout 24h --command-timeout 24h get pods",
        pid.display(),
        env!("CARGO_BIN_EXE_ketcd")
    );
    let mut is_interrupted = false;
    let (text, status) = crate::pty::watched(100, Command::new("sh").args(["-c", &line]).stdin(Stdio::null()), |shown| {
        if !is_interrupted && shown.contains("waiting for etcd") {
            is_interrupted = true;
            let pid = std::fs::read_to_string(&pid).unwrap();
            assert!(Command::new("sh").args(["-c", &format!("kill -INT {pid}")]).status().unwrap().success());
        }
    });
    assert!(is_interrupted, "{text}");
    assert_eq!(status.code(), Some(130), "{text}");
    let left = anstream::adapter::strip_str(text.rsplit("\u{1b}[2K").next().unwrap()).to_string();
    assert_eq!(left.trim(), "ketcd: interrupted: showing what was found so far", "{text:?}");
}

/// `head` takes what it wants of the answer and goes; the line of progress goes, too.
#[test]
fn a_command_whose_reader_went_leaves_no_line_of_progress() {
    let (input, feeder) = std::io::pipe().unwrap();
    let line = format!("{} -f - history -A | head -n 2", env!("CARGO_BIN_EXE_ketcd"));
    let mut feeder = Some(feeder);
    let (text, status) = crate::pty::watched(100, Command::new("sh").args(["-c", &line]).stdin(input), |shown| {
        if shown.contains("opening -, ") {
            let Some(mut feeder) = feeder.take() else { return };
            let bytes = std::fs::read(capture("k136-story")).unwrap();
            std::thread::spawn(move || feeder.write_all(&bytes).unwrap());
        }
    });
    assert!(feeder.is_none() && status.success(), "{text}");
    let erased = text.rfind("\u{1b}[2K").unwrap_or_else(|| panic!("{text:?}"));
    assert!(!text[erased..].contains("opening") && !text[erased..].contains("values read"), "{text:?}");
    let shown = anstream::adapter::strip_str(&text[erased..]).to_string();
    assert_eq!(shown.lines().filter(|line| !line.trim().is_empty()).count(), 2, "{text:?}");
}
