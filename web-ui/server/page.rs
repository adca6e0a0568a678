//! The page's files: exactly those that were built in. Nothing is read from a disk, so no path
//! leads anywhere else.

use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};
use std::fmt::Write;

#[derive(RustEmbed)]
#[folder = "dist"]
#[allow_missing = true]
struct Files;

const INDEX: &str = "index.html";

/// Files in here have a hash of their content in their name.
const HASHED: &str = "assets/";

const MISSING: &str = "The live page is not built into this program. Run `npm ci && npm run build` \
     in web-ui, then build hopwatch-web-ui again.\n";

/// Whether the page was there when this program was built.
pub(crate) fn is_embedded() -> bool {
    Files::get(INDEX).is_some()
}

/// Answers with the file of that path.
pub(crate) async fn serve(uri: Uri, headers: HeaderMap) -> Response {
    let path = match uri.path() {
        "/" => INDEX,
        path => path.strip_prefix('/').unwrap_or(path),
    };
    match Files::get(path) {
        Some(file) => answer(path, file, headers.get(header::IF_NONE_MATCH)),
        None if path == INDEX => (StatusCode::SERVICE_UNAVAILABLE, MISSING).into_response(),
        None => (StatusCode::NOT_FOUND, "not found\n").into_response(),
    }
}

fn answer(path: &str, file: EmbeddedFile, known: Option<&HeaderValue>) -> Response {
    let tag = entity_tag(&file.metadata.sha256_hash());
    // A hashed name never gets other content; anything else is asked for every time.
    let cache =
        if path.starts_with(HASHED) { "public, max-age=31536000, immutable" } else { "no-cache" };
    let caching = [(header::ETAG, tag.as_str()), (header::CACHE_CONTROL, cache)];
    if known.is_some_and(|known| names(known, &tag)) {
        return (StatusCode::NOT_MODIFIED, caching).into_response();
    }
    (caching, [(header::CONTENT_TYPE, content_type(path))], file.data).into_response()
}

fn entity_tag(hash: &[u8; 32]) -> String {
    let mut tag = String::from("\"");
    for byte in hash {
        // Writing into a string can't fail.
        let _infallible = write!(tag, "{byte:02x}");
    }
    tag.push('"');
    tag
}

/// Whether an `If-None-Match` names `tag` (RFC 9110, 13.1.2: compared weakly).
fn names(known: &HeaderValue, tag: &str) -> bool {
    let Ok(known) = known.to_str() else { return false };
    known.split(',').map(str::trim).any(|one| one == "*" || one.trim_start_matches("W/") == tag)
}

/// The types that a page is made of. With `nosniff`, a wrong one isn't run.
fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json") => "application/json",
        Some("png") => "image/png",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entity_tags_are_compared() {
        let tag = entity_tag(&[0xab; 32]);
        assert_eq!(tag.len(), 66);
        for (known, same) in [
            (tag.clone(), true),
            (format!("W/{tag}"), true),
            (format!("\"x\", {tag}"), true),
            ("*".to_owned(), true),
            ("\"x\"".to_owned(), false),
            (tag.trim_matches('"').to_owned(), false),
        ] {
            assert_eq!(names(&HeaderValue::try_from(&known).unwrap(), &tag), same, "{known}");
        }
    }

    #[test]
    fn scripts_have_a_type_that_browsers_run() {
        assert_eq!(content_type("assets/a.b.js"), "text/javascript; charset=utf-8");
        assert_eq!(content_type("assets/js"), "application/octet-stream");
    }

    /// What the page needs must have a type of its own.
    #[test]
    fn every_file_has_a_known_type() {
        for path in Files::iter() {
            assert_ne!(content_type(&path), "application/octet-stream", "{path}");
        }
    }
}
