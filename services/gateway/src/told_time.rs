//! The own time of a service that isn't ours, where its answer tells it.

use crate::forms::{AiForm, ServerTime, TimeUnit};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hopwatch_link::{Call, CallError, Ignored, Link, Reply, Request};
use hopwatch_model::Ns;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A link whose service tells its time as configured.
pub(crate) struct ToldTime {
    link: Arc<dyn Link>,
    /// `None`: what it sends isn't its time.
    field: Option<(String, TimeUnit)>,
    missed: AtomicBool,
}

/// The link, as it is where its service tells its time in headers.
pub(crate) fn told_time(link: Arc<dyn Link>, form: &AiForm) -> Arc<dyn Link> {
    let field = match form.server_time {
        ServerTime::Headers => return link,
        ServerTime::None => None,
        ServerTime::Field => {
            let steps = form.server_time_field.replace(['.', '['], "/").replace(']', "");
            let pointer = format!("/{steps}");
            Some((pointer, form.server_time_unit))
        }
    };
    Arc::new(ToldTime { link, field, missed: AtomicBool::new(false) })
}

impl ToldTime {
    fn put(&self, reply: &mut Reply) {
        reply.stamps = None;
        reply.served_ns = None;
        let Some((pointer, unit)) = &self.field else { return };
        reply.served_ns = time_in(&reply.body, pointer, *unit).map(|ns| (0, ns));
        if reply.served_ns.is_none() && !self.missed.swap(true, Ordering::Relaxed) {
            let field = pointer[1..].replace('/', ".");
            tracing::warn!(
                field,
                "an answer of the AI service has no time in this field: without it, AI includes \
                 transport"
            );
        }
    }
}

/// A number that isn't negative, as ns.
fn time_in(body: &[u8], pointer: &str, unit: TimeUnit) -> Option<Ns> {
    let answer: serde_json::Value = serde_json::from_slice(body).ok()?;
    let told = answer.pointer(pointer)?.as_f64()? * unit.ns();
    // Longer than an hour it is another unit, or no time at all.
    #[expect(clippy::cast_possible_truncation, reason = "it was looked at")]
    (0.0..=3.6e12).contains(&told).then(|| told.round() as Ns)
}

impl Link for ToldTime {
    fn call(&self, request: Request) -> BoxFuture<'_, Call> {
        async {
            let mut call = self.link.call(request).await;
            if let Ok(reply) = &mut call.result {
                self.put(reply);
            }
            call
        }
        .boxed()
    }

    fn warm(&self) -> BoxFuture<'_, Result<(), CallError>> {
        self.link.warm()
    }

    fn ignored(&self) -> Ignored {
        self.link.ignored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_in_its_unit() {
        let body = br#"{"timing": {"infer": 12.5, "text": "3", "minus": -1}, "list": [7]}"#;
        let time = |path, unit| time_in(body, path, unit);
        assert_eq!(time("/timing/infer", TimeUnit::Milliseconds), Some(12_500_000));
        assert_eq!(time("/timing/infer", TimeUnit::Seconds), Some(12_500_000_000));
        assert_eq!(time("/timing/infer", TimeUnit::Microseconds), Some(12_500));
        assert_eq!(time("/list/0", TimeUnit::Nanoseconds), Some(7));
        for nothing in ["/timing/none", "/timing/text", "/timing/minus", "/timing"] {
            assert_eq!(time(nothing, TimeUnit::Milliseconds), None, "{nothing}");
        }
        assert_eq!(time_in(b"<html>", "/a", TimeUnit::Seconds), None);
        assert_eq!(time_in(br#"{"a": 4000}"#, "/a", TimeUnit::Seconds), None);
    }
}
