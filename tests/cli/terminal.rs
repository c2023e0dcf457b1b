//! What a terminal shows of `explain` and `timeline`: nothing wider than it is, and each decision on one screen.

use std::path::Path;
use std::process::Command;

/// What ketcd writes to a terminal of so many columns, without its styles.
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

#[test]
fn explanations_fit_the_terminal() {
    for name in ["k136-random", "k120-random", "k136-story"] {
        let file = capture(name);
        for columns in [60, 80, 120] {
            let text = shown(columns, &["explain", "--all", "-f", &file]);
            narrow(&text, columns);
            if columns >= 80 {
                let (lines, which) = longest(&text);
                // A recorded sentence is never cut, and can take six of them.
                assert!(lines <= 48, "{name} at {columns} columns: {lines} lines for {which}");
            }
        }
    }
}

#[test]
fn one_node_in_depth_fits_the_terminal() {
    for columns in [60, 80, 120] {
        narrow(&shown(columns, &["explain", "pod/shop/api-0179", "--node", "n03", "-f", &capture("k136-random")]), columns);
    }
}

#[test]
fn timelines_fit_the_terminal() {
    for columns in [80, 120] {
        narrow(&shown(columns, &["timeline", "-A", "-f", &capture("k136-story")]), columns);
    }
}
