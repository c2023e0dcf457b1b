//! The logs of containers that `kubectl cluster-info dump` writes between its lists (1.37, `pkg/cmd/clusterinfo/clusterinfo_dump.go`).

const LOG_START: &str = "==== START logs";

/// Where a container's log ends that begins at a place; the place itself where none begins, `None` where it does not end.
pub(super) fn behind_log(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes[at..].trim_ascii_start();
    let Some(title) = rest.strip_prefix(LOG_START.as_bytes()) else { return Some(at) };
    let title = title.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    let end = [b"==== END logs", title].concat();
    let place = memchr::memmem::find(rest, &end)?;
    Some(bytes.len() - rest.len() + place + end.len())
}

/// A text without the logs in it, piece by piece, each with the number of its first line; and whether a log in it has no end.
pub(super) fn without_logs(text: &str) -> (Vec<(usize, &str)>, bool) {
    let (mut pieces, mut from, mut line) = (Vec::new(), 0, 1);
    let lines = |text: &str| text.bytes().filter(|&byte| byte == b'\n').count();
    while let Some(start) = next_log(&text[from..]).map(|start| from + start) {
        pieces.push((line, &text[from..start]));
        let Some(end) = behind_log(text.as_bytes(), start) else { return (pieces, true) };
        line += lines(&text[from..end]);
        from = end;
    }
    pieces.push((line, &text[from..]));
    (pieces, false)
}

/// Where the first line is that begins a log.
fn next_log(text: &str) -> Option<usize> {
    let begins_line = |at: &usize| *at == 0 || text.as_bytes()[at - 1] == b'\n';
    text.match_indices(LOG_START).map(|(at, _)| at).find(begins_line)
}

#[cfg(test)]
mod tests {
    use super::without_logs;

    #[test]
    fn logs_are_cut_out_of_a_text() {
        let text = "kind: A\n==== START logs for c of p ====\n---\n==== END logs for d of p ====\n==== END logs for c of p ====\n---\nkind: B\n  ==== START logs x\n";
        let (pieces, is_cut) = without_logs(text);
        assert_eq!((pieces, is_cut), (vec![(1, "kind: A\n"), (5, "\n---\nkind: B\n  ==== START logs x\n")], false));
        assert_eq!(without_logs("a\n==== START logs for c ====\nb\n"), (vec![(1, "a\n")], true));
        assert_eq!(without_logs("a: b\n"), (vec![(1, "a: b\n")], false));
    }
}
