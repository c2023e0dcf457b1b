//! What people paste around objects: Markdown's fences and quotation marks, the command line that printed them, and the warnings of an API server that
//! kubectl prints before them. At the beginning of a line none can be a part of an object, whose own texts are indented or quoted.

use bytes::Bytes;

/// Where such a line is, one is near the beginning.
const PROBED_BYTES: usize = 4096;

const PRINTING_PROGRAMS: [&str; 2] = ["kubectl ", "oc "];

/// A text with such lines blank, or in YAML with a separator of documents in their place; every other byte stays where it is, but for the marks of a
/// quotation.
pub(super) fn without_surroundings(bytes: &Bytes) -> Bytes {
    let bytes = &unquoted(bytes).unwrap_or_else(|| bytes.clone());
    let head = &bytes[..bytes.len().min(PROBED_BYTES)];
    if !head.split(|&byte| byte == b'\n').any(is_around) {
        return bytes.clone();
    }
    let (mut places, mut at) = (Vec::new(), 0);
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let content = line.strip_suffix(b"\n").unwrap_or(line);
        if is_around(content) {
            places.push(at..at + content.len());
        }
        at += line.len();
    }
    let mut text = bytes.to_vec();
    places.iter().for_each(|place| text[place.clone()].fill(b' '));
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    if !first.is_some_and(|first| matches!(first, b'{' | b'[')) {
        for place in places.iter().filter(|place| place.len() >= 3 && !is_warning(&bytes[(*place).clone()])) {
            text[place.start..place.start + 3].copy_from_slice(b"---");
        }
    }
    text.into()
}

/// The text of which each line is quoted as Markdown and mail do it; `None` where one is not.
fn unquoted(bytes: &Bytes) -> Option<Bytes> {
    bytes.first().filter(|first| **first == b'>')?;
    let mut text = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        match line.strip_prefix(b">") {
            Some(rest) => text.extend_from_slice(rest.strip_prefix(b" ").unwrap_or(rest)),
            None if line.trim_ascii().is_empty() => text.extend_from_slice(line),
            None => return None,
        }
    }
    Some(text.into())
}

/// `Warning: v1 ComponentStatus is deprecated in v1.19+` (k8s.io/client-go rest/warnings.go): kubectl prints it before the objects.
fn is_warning(line: &[u8]) -> bool {
    line.starts_with(b"Warning: ")
}

/// Whether a line is not of an object.
fn is_around(line: &[u8]) -> bool {
    const MAX_LINE_BYTES: usize = 2048;
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let Some(line) = line.get(..line.len().min(MAX_LINE_BYTES)).and_then(|line| std::str::from_utf8(line).ok()) else { return false };
    let line = line.trim_end();
    is_fence(line) || line == "$" || line.starts_with("$ ") || is_command(line) || is_warning(line.as_bytes())
}

/// `` ```yaml ``
fn is_fence(line: &str) -> bool {
    ["```", "~~~"].iter().any(|fence| line.strip_prefix(fence).is_some_and(|language| !language.contains(['`', '~', ' '])))
}

/// `root@host:~# kubectl get pods -o yaml`, but no comment that quotes it.
fn is_command(line: &str) -> bool {
    let before = PRINTING_PROGRAMS.iter().filter_map(|program| line.find(*program)).min().map(|at| &line[..at]);
    before.is_some_and(|before| {
        let prompt = before.trim_end().trim_end_matches("sudo").trim_end();
        let is_of_yaml = prompt.starts_with(['#', '-']) || prompt.contains(": ");
        before.is_empty() || !is_of_yaml && !before.starts_with([' ', '\t']) && prompt.ends_with(['$', '#', '%', '>'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_around_objects_are_told_from_lines_of_objects() {
        for line in [
            "```",
            "```yaml",
            "~~~json\r",
            "$ cat a.yaml",
            "$",
            "kubectl get pods -o yaml",
            "root@n1:~# sudo kubectl get cm a",
            "PS C:\\> oc get cm",
            "Warning: v1 ComponentStatus is deprecated in v1.19+",
        ] {
            assert!(is_around(line.as_bytes()), "{line}");
        }
        for line in [
            "# kubectl apply -f a.yaml",
            "kind: List # kubectl get cm",
            "- # oc get cm",
            "  ```",
            "    $ kubectl get pods",
            "``` a b",
            "kind: ConfigMap",
            "items:",
            "{\"a\": \"$ kubectl get\"}",
            "---",
            "",
        ] {
            assert!(!is_around(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn every_other_byte_stays_in_its_place() {
        let text = Bytes::from_static(b"```yaml\na: 1\n```\n$ \nb: 2\n");
        assert_eq!(without_surroundings(&text), "---    \na: 1\n---\n  \nb: 2\n");
        let json = Bytes::from_static(b"$ kubectl get cm a -o json\n{\"a\": 1}\n$");
        assert_eq!(without_surroundings(&json), format!("{}\n{{\"a\": 1}}\n ", " ".repeat(26)));
        let warned = Bytes::from_static(b"Warning: old\na: 1\n");
        assert_eq!(without_surroundings(&warned), "            \na: 1\n");
        let quoted = Bytes::from_static(b"> ```\n> a:\n>   b: 1\n>\n> ```\n\n");
        assert_eq!(without_surroundings(&quoted), "---\na:\n  b: 1\n\n---\n\n");
        let folded = Bytes::from_static(b">\n a\n");
        assert_eq!(without_surroundings(&folded), folded);
        let plain = Bytes::from_static(b"a: 1\n");
        assert_eq!(without_surroundings(&plain).as_ptr(), plain.as_ptr());
    }
}
