//! Trace parents in annotations: links to spans of other systems.

use super::ids::{SpanId, TraceId};
use super::model::{Link, LinkReason};

/// Reads a trace parent (W3C Trace Context, 3.2: `00-TRACE-SPAN-FLAGS`); `None` where it is not a valid one.
pub(super) fn trace_parent(text: &str) -> Option<Link> {
    let mut parts = text.trim().split('-');
    let (version, trace, span) = (parts.next()?, parts.next()?, parts.next()?);
    let flags = parts.next()?;
    let is_later = version != "00";
    if hex::<1>(version)? == [0xff] || hex::<1>(flags).is_none() || !is_later && parts.next().is_some() {
        return None;
    }
    let (trace, span) = (hex::<16>(trace)?, hex::<8>(span)?);
    let is_zero = |id: &[u8]| id.iter().all(|byte| *byte == 0);
    let link = Link { trace: TraceId(trace), span: SpanId(span), reason: LinkReason::Annotation };
    (!is_zero(&trace) && !is_zero(&span)).then_some(link)
}

/// Reads lowercase hexadecimal digits.
fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let mut bytes = [0; N];
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_parents_are_those_of_the_specification() {
        let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
        let read = trace_parent(&format!("00-{trace}-{span}-01")).unwrap();
        assert_eq!((read.trace.to_string(), read.span.to_string()), (trace.to_owned(), span.to_owned()));
        // A later version may have more parts.
        assert!(trace_parent(&format!("cc-{trace}-{span}-01-what")).is_some());
        for invalid in [
            String::new(),
            format!("00-{trace}-{span}"),
            format!("00-{trace}-{span}-01-what"),
            format!("ff-{trace}-{span}-01"),
            format!("00-{}-{span}-01", "0".repeat(32)),
            format!("00-{trace}-{}-01", "0".repeat(16)),
            format!("00-{}-{span}-01", trace.to_uppercase()),
            format!("00-{trace}-{span}-0g"),
            format!("00-é{}-{span}-01", &trace[2..]),
        ] {
            assert_eq!(trace_parent(&invalid), None, "{invalid}");
        }
    }
}
