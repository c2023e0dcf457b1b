//! The page's own files: its document, its script and its style, which hold no data. The last two are named by their content.

use std::sync::LazyLock;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest, Sha256};

use super::question::with_headers;

/// The page's script, as `crates/serve/ui` builds it.
pub const PAGE_SCRIPT: &str = include_str!("../../../ui/dist/page.js");
/// The page's style.
pub const PAGE_STYLE: &str = include_str!("../../../ui/dist/page.css");

/// Nothing runs but the page's own script, nothing is loaded from elsewhere, and no text becomes markup.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'";

const FILE_HEADERS: [(&str, &str); 5] = [
    ("content-security-policy", PAGE_POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];

/// The files by their names.
struct Files {
    document: String,
    script: String,
    style: String,
}

static FILES: LazyLock<Files> = LazyLock::new(|| {
    let named = |content: &str, ending: &str| {
        let digest = Sha256::digest(content);
        let name: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        (format!("page.{name}.{ending}"), format!("sha256-{}", BASE64.encode(digest)))
    };
    let ((script, script_hash), (style, style_hash)) = (named(PAGE_SCRIPT, "js"), named(PAGE_STYLE, "css"));
    let document = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>ketcd</title>\n<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"/ui/{style}\" integrity=\"{style_hash}\">\n\
         <script defer src=\"/ui/{script}\" integrity=\"{script_hash}\"></script>\n</head>\n<body>\n<div id=\"page\" data-api=\"/ui/api/\"></div>\n\
         <noscript>The page needs JavaScript. The commands of ketcd show the same as text.</noscript>\n</body>\n</html>\n"
    );
    Files { document, script, style }
});

/// Returns a file below `/ui/`; `None` where there is none of that name.
pub(crate) fn file(name: &str) -> Option<Response> {
    let files = &*FILES;
    let (content, media_type, caching) = match name {
        "" => (files.document.as_str(), "text/html; charset=utf-8", "no-cache"),
        name if name == files.script => (PAGE_SCRIPT, "text/javascript; charset=utf-8", "max-age=31536000, immutable"),
        name if name == files.style => (PAGE_STYLE, "text/css; charset=utf-8", "max-age=31536000, immutable"),
        _ => return None,
    };
    let response = ([(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, caching)], content).into_response();
    Some(with_headers(response, &FILE_HEADERS))
}
