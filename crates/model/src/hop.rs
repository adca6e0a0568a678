//! Hops, legs and classes: the way of a message, in order.

/// Defines an enum with a snake_case name for each variant, which is also its serde name.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($(#[doc = $doc:literal])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "ts", derive(ts_rs::TS))]
        pub enum $name { $($(#[doc = $doc])* #[serde(rename = $text)] $variant,)* }

        impl $name {
            /// All of them, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name used on the wire, in reports and in the glossary.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The one of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|x| x.name() == name)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}
pub(crate) use named;

named! {
    /// A point of a message's way where a stamp is taken, in the order of the way.
    Hop {
        /// The robot's schedule: when the message should have been published.
        Intended = "intended",
        /// The robot, right before `publish()`: the header's stamp.
        Published = "published",
        /// The DDS writer's `source_timestamp`.
        Written = "written",
        /// The DDS reader's `received_timestamp`.
        Received = "received",
        /// The gateway, right after the take.
        Taken = "taken",
        /// The gateway: the message leaves its queue.
        Started = "started",
        /// The gateway begins to open a connection to the AI service (only when it had to).
        AiConnecting = "ai_connecting",
        /// The gateway: the request to the AI service goes out for the first time, and is lost
        /// (only when it had to go out again).
        AiFirstSent = "ai_first_sent",
        /// The gateway: the request to the AI service goes out, the one that arrived.
        AiSent = "ai_sent",
        /// The AI service has the request.
        AiReceived = "ai_received",
        /// The AI service: the model starts.
        AiBegun = "ai_begun",
        /// The AI service: the model is done.
        AiDone = "ai_done",
        /// The AI service sends its reply again, which was lost (only when it had to).
        AiResent = "ai_resent",
        /// The gateway has read the whole AI reply.
        AiAnswered = "ai_answered",
        /// The gateway begins to open a connection to the web service (only when it had to).
        WebConnecting = "web_connecting",
        /// The gateway: the request to the web service goes out for the first time, and is lost
        /// (only when it had to go out again).
        WebFirstSent = "web_first_sent",
        /// The gateway: the request to the web service goes out, the one that arrived.
        WebSent = "web_sent",
        /// The broadcaster has the request.
        WebReceived = "web_received",
        /// The broadcaster has queued the message for its clients and answers.
        WebDone = "web_done",
        /// The broadcaster sends its reply again, which was lost (only when it had to).
        WebResent = "web_resent",
        /// The gateway has read the whole web reply: the pipeline's end.
        WebAcked = "web_acked",
        /// The gateway gave up on the message: a service gave no usable reply. No leg ends here.
        Failed = "failed",
        /// The broadcaster writes the frame for one client.
        FrameSent = "frame_sent",
        /// That client's browser has the frame.
        BrowserReceived = "browser_received",
        /// That browser has painted it.
        Painted = "painted",
    }
}

named! {
    /// What a leg's time was spent on.
    Class {
        /// The AI service's own time: its waiting line and the model.
        Ai = "ai",
        /// On a wire or in a middleware, between processes.
        Transport = "transport",
        /// Inside our processes: queues, wake-ups, encoding.
        Overhead = "overhead",
    }
}

named! {
    /// The time between two consecutive hops of a message.
    Leg {
        /// intended → published: the robot was late on its own schedule.
        Schedule = "schedule",
        /// published → written: `publish()` up to the DDS writer.
        Write = "write",
        /// written → received: through DDS.
        Ros = "ros",
        /// received → taken: the gateway's wake-up and take.
        Wake = "wake",
        /// taken → started: the gateway's queue.
        Queue = "queue",
        /// started → request ready: decoding the message, building the request.
        Encode = "encode",
        /// Opening a connection to the AI service, when one had to be opened.
        AiConnect = "ai_connect",
        /// ai_first_sent → ai_sent: the request was lost, until it was sent again.
        AiRetry = "ai_retry",
        /// ai_sent → ai_received.
        AiRequest = "ai_request",
        /// ai_received → ai_begun: the AI service's waiting line.
        AiWait = "ai_wait",
        /// ai_begun → ai_done: the model.
        AiInfer = "ai_infer",
        /// ai_done → ai_resent: the reply was lost, until it was asked for and sent again.
        AiResend = "ai_resend",
        /// ai_done, or ai_resent → ai_answered.
        AiReply = "ai_reply",
        /// Round trip − the AI service's own time: request and reply in one, needing no
        /// agreement between clocks (METHOD 2).
        AiTransport = "ai_transport",
        /// ai_sent → ai_answered of a service that tells nothing: AI, including transport.
        AiRoundTrip = "ai_round_trip",
        /// ai_answered → request to the web service ready.
        Handoff = "handoff",
        /// Opening a connection to the web service, when one had to be opened.
        WebConnect = "web_connect",
        /// web_first_sent → web_sent: the request was lost, until it was sent again.
        WebRetry = "web_retry",
        /// web_sent → web_received.
        WebRequest = "web_request",
        /// web_received → web_done: the broadcaster's own time.
        WebHandle = "web_handle",
        /// web_done → web_resent: the reply was lost, until it was asked for and sent again.
        WebResend = "web_resend",
        /// web_done, or web_resent → web_acked.
        WebReply = "web_reply",
        /// Round trip − the broadcaster's own time: request and reply in one.
        WebTransport = "web_transport",
        /// web_sent → web_acked of a web service that tells nothing.
        WebRoundTrip = "web_round_trip",
        /// web_received → frame_sent: the broadcaster's queue for that client.
        Fanout = "fanout",
        /// frame_sent → browser_received, across two clocks.
        Push = "push",
        /// browser_received → painted, on the browser's clock.
        Paint = "paint",
    }
}

impl Leg {
    /// The class that this leg's time is counted in.
    pub const fn class(self) -> Class {
        match self {
            Self::AiWait | Self::AiInfer | Self::AiRoundTrip => Class::Ai,
            Self::Ros
            | Self::AiConnect
            | Self::AiRetry
            | Self::AiRequest
            | Self::AiResend
            | Self::AiReply
            | Self::AiTransport
            | Self::WebConnect
            | Self::WebRetry
            | Self::WebRequest
            | Self::WebResend
            | Self::WebReply
            | Self::WebTransport
            | Self::WebRoundTrip
            | Self::Push => Class::Transport,
            Self::Schedule
            | Self::Write
            | Self::Wake
            | Self::Queue
            | Self::Encode
            | Self::Handoff
            | Self::WebHandle
            | Self::Fanout
            | Self::Paint => Class::Overhead,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found_again() {
        for leg in Leg::ALL {
            assert_eq!(Leg::from_name(leg.name()), Some(*leg));
        }
        for hop in Hop::ALL {
            assert_eq!(Hop::from_name(hop.name()), Some(*hop));
        }
        assert_eq!(Hop::from_name("nowhere"), None);
    }
}
