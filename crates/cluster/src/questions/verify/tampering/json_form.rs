//! Whether JSON is written as Go's encoder writes it for an API server.

/// How a JSON text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JsonForm {
    /// Whether there is no space between its tokens.
    pub is_compact: bool,
    /// Whether it ends with a line feed.
    pub ends_line: bool,
    /// Whether `<`, `>` and `&` are escaped.
    pub is_escaped: bool,
}

impl JsonForm {
    /// What API servers write: `NewEncoder().Encode` writes compact text, escapes what HTML would read, and ends the line (apimachinery v0.37,
    /// `pkg/runtime/serializer/json/json.go`, `doEncode`; Go's `encoding/json`, `Encoder.Encode`).
    pub(super) const OF_API_SERVERS: Self = Self { is_compact: true, ends_line: true, is_escaped: true };

    /// Reads how a text is written.
    pub(super) fn of(text: &[u8]) -> Self {
        let (body, ends_line) = text.strip_suffix(b"\n").map_or((text, false), |body| (body, true));
        let mut form = Self { ends_line, ..Self::OF_API_SERVERS };
        let (mut is_within, mut is_escape) = (false, false);
        for &byte in body {
            match byte {
                _ if is_escape => is_escape = false,
                b'\\' if is_within => is_escape = true,
                b'"' => is_within = !is_within,
                b'<' | b'>' | b'&' if is_within => form.is_escaped = false,
                b' ' | b'\t' | b'\n' | b'\r' if !is_within => form.is_compact = false,
                _ => {}
            }
        }
        form
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_go_writes_is_told_from_what_kubectl_prints() {
        assert_eq!(JsonForm::of(b"{\"a\":\"b c\\\" d\\\\\",\"e\":[1,2]}\n"), JsonForm::OF_API_SERVERS);
        assert!(!JsonForm::of(b"{\n    \"a\": 1\n}\n").is_compact);
        assert!(!JsonForm::of(b"{\"a\": 1}\n").is_compact);
        assert!(!JsonForm::of(b"{\"a\":1}").ends_line);
        assert!(!JsonForm::of(b"{\"a\":\"x<y\"}\n").is_escaped);
        assert!(JsonForm::of(b"{\"a\":\"x\\u003cy\"}\n").is_escaped);
    }

    #[test]
    fn what_the_decoder_writes_is_what_api_servers_write() {
        let stored = b"{ \"kind\":\"Thing\",\"apiVersion\":\"example.com/v1\", \"metadata\":{\"name\":\"a\"}, \"b<\":\"& \\\" \\\\ >\", \"c\":[1, 2.50]}";
        let mut text = Vec::new();
        ketcd_kube::Decoder::for_stored_values().decode_text(b"/registry/x/a", stored, 0, &mut text).unwrap();
        text.push(b'\n');
        assert_eq!(JsonForm::of(&text), JsonForm::OF_API_SERVERS, "{}", text.escape_ascii());
        assert!(!JsonForm::of(stored).is_compact);
    }
}
