//! What the time of one delivered message was spent on, as far as a link has to do with it.

use crate::decompose::Decomposition;
use crate::lane::taken_ns;
use hopwatch_model::{Class, Leg, Ns, Trace};

/// One message that went the whole way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// When it was taken.
    pub(crate) taken: Ns,
    /// taken → web_acked.
    pub(crate) total: Ns,
    /// The AI service's own time, or the whole call when it doesn't tell.
    pub(crate) ai: Ns,
    /// published → web_acked, and how far that may be off.
    pub(crate) published: Option<(Ns, Ns)>,
    /// written → received, when the clocks resolve it.
    pub(crate) ros: Option<Ns>,
    /// On the way to and from the services, connections included: all that another link could
    /// give back.
    pub(crate) transport: Ns,
    /// Opening connections to the AI and to the web service; `None`: none was opened.
    pub(crate) connects: [Option<Ns>; 2],
    /// Request and reply of the AI and of the web service; `None`: not told apart.
    pub(crate) calls: [Option<Ns>; 2],
    /// Waiting for a worker of the gateway.
    pub(crate) queue: Ns,
    /// Decoding the message, building the requests.
    pub(crate) encode: Ns,
}

impl Parts {
    /// `None` for a message that didn't go the whole way.
    pub(crate) fn of(trace: &Trace, d: &Decomposition) -> Option<Self> {
        let total = d.pipeline_ns?;
        let leg = |wanted: Leg| d.pipeline.iter().find(|leg| leg.leg == wanted).map(|leg| leg.ns);
        Some(Self {
            taken: taken_ns(trace),
            total,
            ai: d.class_ns(Class::Ai),
            published: d.published,
            ros: ros_ns(d),
            transport: d.class_ns(Class::Transport),
            connects: [leg(Leg::AiConnect), leg(Leg::WebConnect)],
            calls: [
                d.ai_transport.map(|(ns, _)| ns),
                // Of a web service that tells nothing its own time is in, which is small.
                d.web_transport.map(|(ns, _)| ns).or_else(|| leg(Leg::WebRoundTrip)),
            ],
            queue: leg(Leg::Queue).unwrap_or(0),
            encode: leg(Leg::Encode).unwrap_or(0).saturating_add(leg(Leg::Handoff).unwrap_or(0)),
        })
    }

    /// Everything but AI.
    pub(crate) fn communication(&self) -> Ns {
        self.total.saturating_sub(self.ai)
    }

    /// The same from publication on.
    pub(crate) fn since_publication(&self) -> Option<Ns> {
        self.published.map(|(ns, _)| ns.saturating_sub(self.ai))
    }
}

/// Off by more than this, the way through DDS tells nothing of a repair.
const RESOLVED: Ns = 2_000_000;

/// The way through DDS, when the clocks resolve it.
pub(crate) fn ros_ns(d: &Decomposition) -> Option<Ns> {
    let leg = d.before.iter().find(|leg| leg.leg == Leg::Ros)?;
    (leg.half_ns <= RESOLVED).then_some(leg.ns)
}
