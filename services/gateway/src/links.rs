//! The links to the services.

use hopwatch_kit::config::Refused;
use hopwatch_kit::tls::Trust;
use hopwatch_kit::{Clock, Shutdown};
use hopwatch_link::{Link, LinkConfig, LinkKind, Target};
use std::sync::Arc;

/// A link of this kind to the service at `url`, or to `path` there, believed by `trust` where it is
/// asked for by TLS; `dress` completes its configuration. Fails on a URL that names no service, and on
/// a form that this kind can't have.
pub(crate) fn open(
    kind: LinkKind,
    url: &str,
    path: Option<&str>,
    trust: &Trust,
    clock: &Arc<dyn Clock>,
    dress: impl FnOnce(&mut LinkConfig),
) -> anyhow::Result<Arc<dyn Link>> {
    let target = Target::parse(url).map_err(|error| Refused(error.to_string()))?;
    let target = match path {
        Some(path) => target.at(path),
        None => target,
    };
    let mut config = LinkConfig::new(target.trusting(trust));
    dress(&mut config);
    let link = hopwatch_link::open(kind, &config, Arc::clone(clock));
    Ok(link.map_err(|error| Refused(error.to_string()))?)
}

/// Opens what can be opened ahead of the first message, of all links at once, unless the end begins
/// meanwhile. Each comes with its service's name, for the log.
pub(crate) async fn warm<'a>(links: impl Iterator<Item = (&str, &'a dyn Link)>, end: &Shutdown) {
    let warming = links.map(|(name, link)| warm_one(name, link));
    tokio::select! {
        _all = futures_util::future::join_all(warming) => {}
        () = end.begun() => {}
    }
}

async fn warm_one(name: &str, link: &dyn Link) {
    // Not yet there is no error: each message says so for itself.
    if let Err(error) = link.warm().await {
        tracing::warn!("the {name} service can't be reached yet: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;
    use hopwatch_link::{Call, CallError, Request};
    use std::time::Duration;
    use tokio::time::{Instant, sleep};

    const SECOND: Duration = Duration::from_secs(1);

    /// To a service that takes so long to say anything.
    struct Slow(Duration);

    impl Link for Slow {
        fn call(&self, _: Request) -> BoxFuture<'_, Call> {
            std::future::pending().boxed()
        }

        fn warm(&self) -> BoxFuture<'_, Result<(), CallError>> {
            sleep(self.0).map(Ok).boxed()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn links_are_warmed_all_at_once_and_not_beyond_the_end() {
        let of = |links: &'static [Slow]| links.iter().map(|link| ("web", link as &dyn Link));
        let (begun, end) = (Instant::now(), Shutdown::new());
        warm(of(&[Slow(SECOND), Slow(SECOND), Slow(SECOND)]), &end).await;
        assert_eq!(begun.elapsed(), SECOND);
        let (begun, stopping) = (Instant::now(), end.clone());
        tokio::spawn(async move {
            sleep(SECOND).await;
            stopping.begin();
        });
        warm(of(&[Slow(Duration::MAX)]), &end).await;
        assert_eq!(begun.elapsed(), SECOND);
    }
}
