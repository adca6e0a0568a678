//! The messages of `hopwatch.v1.Link` as `docs/link.proto` has them. There is no `protoc` in our
//! builds: what it would make of that file stands here, and a test compares the bytes.

use bytes::Bytes;

/// The method's path.
pub(crate) const METHOD: &str = "/hopwatch.v1.Link/Call";

/// What is asked.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CallRequest {
    /// The path of the URL.
    #[prost(string, tag = "1")]
    pub(crate) path: String,
    /// Media type of the body.
    #[prost(string, tag = "2")]
    pub(crate) media_type: String,
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) body: Bytes,
}

/// What is answered.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CallReply {
    /// A status of HTTP.
    #[prost(uint32, tag = "1")]
    pub(crate) status: u32,
    /// Media type of the body.
    #[prost(string, tag = "2")]
    pub(crate) media_type: String,
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) body: Bytes,
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

    /// By the encoding of Protocol Buffers: tag and wire type, length, bytes.
    #[test]
    fn the_bytes_are_those_of_the_proto() {
        let request = CallRequest {
            path: "/p".to_owned(),
            media_type: "t".to_owned(),
            body: Bytes::from_static(b"{}"),
        };
        assert_eq!(request.encode_to_vec(), b"\x0a\x02/p\x12\x01t\x1a\x02{}");
        let reply = CallReply { status: 200, media_type: String::new(), body: Bytes::new() };
        assert_eq!(reply.encode_to_vec(), b"\x08\xc8\x01");
    }
}
