//! The links to the services.

use hopwatch_kit::Clock;
use hopwatch_kit::config::Refused;
use hopwatch_kit::net::Token;
use hopwatch_link::{Link, LinkConfig, LinkKind, Target};
use std::sync::Arc;

/// A link of this kind to the service at `url`, or to `path` there, which is shown `token`. Replies
/// beyond `max_reply_bytes` are refused. Fails on a URL that names no service.
pub(crate) fn open(
    kind: LinkKind,
    url: &str,
    path: Option<&str>,
    token: &Token,
    max_reply_bytes: usize,
    clock: &Arc<dyn Clock>,
) -> anyhow::Result<Arc<dyn Link>> {
    let target = Target::parse(url).map_err(|error| Refused(error.to_string()))?;
    let target = match path {
        Some(path) => target.at(path),
        None => target,
    };
    let config = LinkConfig { max_reply_bytes, token: token.clone(), ..LinkConfig::new(target) };
    let link = hopwatch_link::open(kind, &config, Arc::clone(clock));
    Ok(link.map_err(|error| Refused(error.to_string()))?)
}

/// Opens what can be opened ahead of the first message. `name` is the service's, for the log.
pub(crate) async fn warm(name: &str, link: &dyn Link) {
    // Not yet there is no error: each message says so for itself.
    if let Err(error) = link.warm().await {
        tracing::warn!("the {name} service can't be reached yet: {error}");
    }
}
