//! Objects written as text member by member and put in order of their keys afterwards, if they were not already.

use std::cmp::Ordering;

use super::go_text;

/// The members of the objects that are being written, innermost last.
#[derive(Default)]
pub(super) struct OpenMembers {
    members: Vec<Member>,
}

/// Where a member lies in the output: its key without quotes and the end of its value.
struct Member {
    key: (usize, usize),
    escaped: bool,
    end: usize,
}

/// An object that is being written.
pub(super) struct OpenObject {
    start: usize,
    base: usize,
}

impl OpenMembers {
    pub(super) fn begin(&mut self, out: &mut Vec<u8>) -> OpenObject {
        out.push(b'{');
        OpenObject { start: out.len(), base: self.members.len() }
    }

    /// Writes a member's key; its value must follow, then [`OpenMembers::end_member`].
    pub(super) fn key(&mut self, object: &OpenObject, key: &[u8], out: &mut Vec<u8>) {
        if self.members.len() > object.base {
            out.push(b',');
        }
        let start = out.len() + 1;
        go_text::append_string(out, key);
        let end = out.len() - 1;
        self.members.push(Member { key: (start, end), escaped: end - start != key.len(), end: 0 });
        out.push(b':');
    }

    /// The value of the member begun last is written.
    pub(super) fn end_member(&mut self, out: &[u8]) {
        self.members.last_mut().expect("a member was begun").end = out.len();
    }

    /// Ends the object: sorts its members by the bytes of their keys; of equal keys the last one stays, as in Go.
    pub(super) fn end(&mut self, object: OpenObject, out: &mut Vec<u8>) {
        let members = &self.members[object.base..];
        let ordered = members.windows(2).all(|pair| compare(out, &pair[0], &pair[1]).is_lt());
        if !ordered {
            let mut order: Vec<&Member> = members.iter().collect();
            order.sort_by(|a, b| compare(out, a, b));
            let mut text = Vec::with_capacity(out.len() - object.start);
            for (index, member) in order.iter().enumerate() {
                if order.get(index + 1).is_some_and(|next| compare(out, member, next).is_eq()) {
                    continue;
                }
                if !text.is_empty() {
                    text.push(b',');
                }
                text.extend_from_slice(&out[member.key.0 - 1..member.end]);
            }
            out.truncate(object.start);
            out.extend_from_slice(&text);
        }
        self.members.truncate(object.base);
        out.push(b'}');
    }
}

fn compare(out: &[u8], a: &Member, b: &Member) -> Ordering {
    let escaped = a.escaped || b.escaped;
    let (a, b) = (&out[a.key.0..a.key.1], &out[b.key.0..b.key.1]);
    if escaped { compare_escaped(a, b) } else { a.cmp(b) }
}

/// Compares what two texts with escapes stand for: escapes are read only where an escape decides.
fn compare_escaped(a: &[u8], b: &[u8]) -> Ordering {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    // The backslashes before the first difference: an odd number of them escapes it, and `\u` has digits of its own.
    let has_escape = |text: &[u8]| text.get(same) == Some(&b'\\');
    let backslashes = a[..same].iter().rev().take_while(|byte| **byte == b'\\').count();
    let is_within_escape = backslashes % 2 == 1 || a[same.saturating_sub(5)..same].windows(2).any(|pair| pair == b"\\u");
    if has_escape(a) || has_escape(b) || is_within_escape { unescaped(a).cmp(&unescaped(b)) } else { a[same..].cmp(&b[same..]) }
}

fn unescaped(key: &[u8]) -> String {
    let quoted = [b"\"", key, b"\""].concat();
    serde_json::from_slice(&quoted).unwrap_or_else(|_| String::from_utf8_lossy(key).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keys_are_compared_by_what_they_stand_for(a in "[ab\"\\\\<\u{1}\u{2028}é]{0,6}", b in "[ab\"\\\\<\u{1}\u{2028}é]{0,6}", same in "[a\\\\<]{0,3}") {
            let (a, b) = (format!("{same}{a}"), format!("{same}{b}"));
            let written = |text: &str| {
                let mut out = Vec::new();
                go_text::append_string(&mut out, text.as_bytes());
                out[1..out.len() - 1].to_vec()
            };
            prop_assert_eq!(compare_escaped(&written(&a), &written(&b)), a.cmp(&b));
        }
    }
}
