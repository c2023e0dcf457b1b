//! What kubectl prints for people, and what programs log: text that holds no objects, named where nothing else can be read in it.

const TABLE_ADVICE: &str = "is a table that kubectl prints for people, not the objects; print them with -o yaml or -o json";
const DESCRIPTION_ADVICE: &str =
    "is what `kubectl describe` prints for people, not the object; print it with `kubectl get` and -o yaml or -o json, Events too";
const LOG_ADVICE: &str = "is the log of a program, not objects or an audit log";

/// What a text is that holds no objects, if it is known: a fragment.
pub(super) fn said(bytes: &[u8]) -> Option<&'static str> {
    const PROBED_BYTES: usize = 4096;
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(PROBED_BYTES)]);
    let mut lines = head.trim_start_matches('\u{feff}').lines().filter(|line| !matches!(line.trim(), "" | "---"));
    let first = lines.next()?;
    if is_heading(first) {
        return Some(TABLE_ADVICE);
    }
    if is_of_klog(first) {
        return Some(LOG_ADVICE);
    }
    let is_described = first.starts_with("Name:") && lines.any(|line| line.starts_with("Labels:") || line.starts_with("Namespace:"));
    is_described.then_some(DESCRIPTION_ADVICE)
}

/// `NAMESPACE   NAME   READY   STATUS   RESTARTS   AGE`, and of Events `LAST SEEN   TYPE   REASON   OBJECT   MESSAGE`.
fn is_heading(line: &str) -> bool {
    let is_column = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || b" ()-%_".contains(&byte);
    let mut words = line.split_whitespace();
    matches!(words.next(), Some("NAME" | "NAMESPACE" | "LAST")) && words.next().is_some() && line.trim_end().bytes().all(is_column)
}

/// `I1128 09:59:55.123456       1 controller.go:615] …` (k8s.io/klog v2, klog.go, `formatHeader`).
fn is_of_klog(line: &str) -> bool {
    let is_shaped = |(byte, wanted): (u8, u8)| if wanted == b'0' { byte.is_ascii_digit() } else { byte == wanted };
    let line = line.as_bytes();
    line.first().is_some_and(|level| b"IWEF".contains(level))
        && line.len() > 14
        && line[1..].iter().copied().zip(*b"0000 00:00:00").all(is_shaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_for_people_is_named() {
        for (text, wanted) in [
            ("NAME    READY   STATUS    RESTARTS   AGE\nweb-0   1/1     Running   0          3d\n", Some(TABLE_ADVICE)),
            ("---\nNAMESPACE   NAME   TYPE   CLUSTER-IP   PORT(S)   AGE\n", Some(TABLE_ADVICE)),
            ("LAST SEEN   TYPE      REASON   OBJECT   MESSAGE\n", Some(TABLE_ADVICE)),
            ("NAME\n", None),
            ("NAME: x\nAGE: 1\n", None),
            ("Name:         web-0\nNamespace:    shop\nPriority:     0\n", Some(DESCRIPTION_ADVICE)),
            ("Name:    n1\nRoles:   <none>\nLabels:  a=b\n", Some(DESCRIPTION_ADVICE)),
            ("Name: n1\nkind: x\n", None),
            ("I1128 09:59:55.123456       1 controller.go:615] quota evaluator\n", Some(LOG_ADVICE)),
            ("I am no log\n", None),
            ("", None),
        ] {
            assert_eq!(said(text.as_bytes()), wanted, "{text}");
        }
    }
}
