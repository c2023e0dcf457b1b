//! Holds the rooms of the command, the folders of `src/cli`, to their order: each may use only those listed before it.

use super::files;

/// The rooms, from the ground up. `mod` is the front door.
const CLI_ROOMS: &[&str] = &[
    "invocation",
    "outcome",
    "system",
    "output",
    "input",
    "connection",
    "session",
    "listing",
    "changes",
    "decisions",
    "export",
    "extraction",
    "recorder",
    "verification",
    "rehearsal",
    "bundling",
    "serving",
    "assistant",
    "complete",
    "commands",
    "command_line",
    "mod",
];

/// The room of a file; `None` outside of `src/cli`.
fn room(file: &str) -> Option<&str> {
    file.strip_prefix("cli/")?.trim_end_matches(".rs").split('/').next()
}

#[test]
fn every_room_of_the_command_uses_only_those_below_it() {
    let rank = |room: &str| CLI_ROOMS.iter().position(|known| *known == room);
    let files = files("src");
    let (mut faults, mut count) = (Vec::new(), 0);
    for file in files.names() {
        let Some(own) = room(file) else { continue };
        count += 1;
        let Some(floor) = rank(own) else {
            faults.push(format!("{file}: {own} is not among the rooms"));
            continue;
        };
        let above = files.used(file).filter(|used| room(used).and_then(rank).is_none_or(|used| used > floor));
        faults.extend(above.map(|used| format!("{file} uses {used}, which is not below it")));
    }
    assert!(count > 100, "only {count} files were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
