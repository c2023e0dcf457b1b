//! etcd's alarms: what a member raised, and what to do about it.

use std::fmt;

use crate::proto::etcdserverpb::AlarmType;

/// An alarm that a member raised and nobody disarmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alarm {
    member: u64,
    kind: AlarmType,
}

impl Alarm {
    /// An alarm as etcd numbers it; `None` where the number stands for no alarm.
    pub(crate) fn new(member: u64, kind: i32) -> Option<Self> {
        AlarmType::try_from(kind).ok().filter(|kind| *kind != AlarmType::None).map(|kind| Self { member, kind })
    }

    #[cfg(feature = "live")]
    /// Reads an alarm as Go prints the message: `memberID:8211 alarm:NOSPACE`, with blanks of any number.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| text.split_whitespace().find_map(|word| word.strip_prefix(name));
        let member = field("memberID:").map_or(Some(0), |id| id.parse().ok())?;
        let kind = AlarmType::from_str_name(field("alarm:")?)?;
        Self::new(member, kind as i32)
    }
}

impl fmt::Display for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.member {
            0 => f.write_str("a member")?,
            member => write!(f, "member {member:x}")?,
        }
        match self.kind {
            AlarmType::Corrupt => f.write_str(
                " raised the alarm CORRUPT: its data differ from the other members'. Do not trust what it shows; replace it (etcdctl member remove, \
                 then member add with an empty data dir), then etcdctl alarm disarm",
            ),
            _ => f.write_str(
                " raised the alarm NOSPACE: its database reached the quota, and the cluster refuses writes. Compact (etcdctl compact REVISION), \
                 defragment every member (etcdctl defrag), then etcdctl alarm disarm",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarms_are_read_as_every_release_prints_them() {
        let text = |text: &str| Alarm::parse(text).map(|alarm| alarm.to_string().chars().take(52).collect::<String>());
        let expected = Some("member 8e9e05c52164694d raised the alarm NOSPACE: it".to_owned());
        assert_eq!(text("memberID:10276657743932975437 alarm:NOSPACE "), expected);
        assert_eq!(text("memberID:10276657743932975437  alarm:NOSPACE"), expected);
        assert_eq!(text("alarm:CORRUPT "), Some("a member raised the alarm CORRUPT: its data differ f".to_owned()));
        for other in ["etcdserver: no leader", "memberID:1 alarm:NONE", "memberID:x alarm:CORRUPT", "memberID:1"] {
            assert_eq!(text(other), None, "{other}");
        }
    }
}
