//! The names of our headers, looked up once.

use hopwatch_wire::headers;
use http::HeaderName;

pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static(headers::TRACEPARENT);
pub(crate) const CLOCK: HeaderName = HeaderName::from_static(headers::CLOCK);
pub(crate) const SERVER_TIMING: HeaderName = HeaderName::from_static(headers::SERVER_TIMING);
pub(crate) const STAMPS: HeaderName = HeaderName::from_static(headers::STAMPS);
