//! Objects written as text member by member and put in order of their keys afterwards, if they were not already.

use super::go_text;

/// The members of the objects that are being written, innermost last.
#[derive(Default)]
pub(super) struct Members {
    members: Vec<Member>,
}

/// Where a member lies in the output: its key without quotes and the end of its value.
struct Member {
    key: (usize, usize),
    /// Whether the key has escapes.
    escaped: bool,
    end: usize,
}

/// An object that is being written.
pub(super) struct Object {
    start: usize,
    base: usize,
}

impl Members {
    /// Begins an object.
    pub(super) fn begin(&mut self, out: &mut Vec<u8>) -> Object {
        out.push(b'{');
        Object { start: out.len(), base: self.members.len() }
    }

    /// Writes a member's key; its value must follow, then [`Members::end_member`].
    pub(super) fn key(&mut self, object: &Object, key: &[u8], out: &mut Vec<u8>) {
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
    pub(super) fn end(&mut self, object: Object, out: &mut Vec<u8>) {
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

fn compare(out: &[u8], a: &Member, b: &Member) -> std::cmp::Ordering {
    let escaped = a.escaped || b.escaped;
    let (a, b) = (&out[a.key.0..a.key.1], &out[b.key.0..b.key.1]);
    if escaped { unescaped(a).cmp(&unescaped(b)) } else { a.cmp(b) }
}

fn unescaped(key: &[u8]) -> String {
    let quoted = [b"\"", key, b"\""].concat();
    serde_json::from_slice(&quoted).unwrap_or_else(|_| String::from_utf8_lossy(key).into_owned())
}
