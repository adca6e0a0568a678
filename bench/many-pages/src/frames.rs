//! WebSocket frames (RFC 6455), as far as a page of ours needs them.

/// Bytes that are no frame of a broadcaster.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadFrame;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Close,
    /// Ping, pong, binary.
    Other,
}

/// Longer frames are none of ours.
const LONGEST: usize = 16 << 20;

/// Takes frames out of what a connection brings, however it is cut.
#[derive(Default)]
pub(crate) struct Frames {
    /// The beginning of a frame that isn't whole yet.
    rest: Vec<u8>,
}

impl Frames {
    /// Gives each whole frame to `each`.
    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(Kind, &[u8]),
    ) -> Result<(), BadFrame> {
        if self.rest.is_empty() {
            let taken = take(bytes, &mut each)?;
            self.rest.extend_from_slice(&bytes[taken..]);
        } else {
            self.rest.extend_from_slice(bytes);
            let taken = take(&self.rest, &mut each)?;
            self.rest.drain(..taken);
        }
        Ok(())
    }
}

/// Gives the whole frames at the beginning of `bytes`; how many bytes they took.
fn take(bytes: &[u8], each: &mut impl FnMut(Kind, &[u8])) -> Result<usize, BadFrame> {
    let mut at = 0;
    while let Some(([first, second], rest)) = bytes[at..].split_first_chunk() {
        // A server's frames are unmasked, and ours come in one piece.
        if first & 0x80 == 0 || second & MASKED != 0 {
            return Err(BadFrame);
        }
        let (length, header) = match (second, rest.first_chunk(), rest.first_chunk()) {
            (126, Some(short), _) => (usize::from(u16::from_be_bytes(*short)), 4),
            (127, _, Some(long)) => {
                (usize::try_from(u64::from_be_bytes(*long)).map_err(|_| BadFrame)?, 10)
            }
            (126.., ..) => break,
            (length, ..) => (usize::from(*length), 2),
        };
        if length > LONGEST {
            return Err(BadFrame);
        }
        let Some(payload) = rest.get(header - 2..header - 2 + length) else { break };
        let kind = match first & 0x0f {
            1 => Kind::Text,
            8 => Kind::Close,
            _ => Kind::Other,
        };
        each(kind, payload);
        at += header + length;
    }
    Ok(at)
}

/// The bit that says that a frame is masked.
const MASKED: u8 = 0x80;

/// A text frame of a client. It is masked with zeros: what a mask is for, proxies in between, isn't
/// there, and the broadcaster can't tell.
pub(crate) fn from_client(text: &str) -> Vec<u8> {
    let length = text.len();
    let mut frame = Vec::with_capacity(length + 14);
    frame.push(0x81);
    if let Ok(length @ 0..=125) = u8::try_from(length) {
        frame.push(MASKED | length);
    } else if let Ok(length) = u16::try_from(length) {
        frame.push(MASKED | 0x7e);
        frame.extend_from_slice(&length.to_be_bytes());
    } else {
        frame.push(MASKED | 0x7f);
        frame.extend_from_slice(&(length as u64).to_be_bytes());
    }
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(text.as_bytes());
    frame
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn server(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = from_client(std::str::from_utf8(payload).unwrap());
        frame[0] = first;
        frame[1] &= 0x7f;
        let mask = frame.len() - payload.len() - 4;
        frame.drain(mask..mask + 4);
        frame
    }

    #[test]
    fn frames_are_found_however_they_are_cut() {
        let texts: Vec<String> = [0, 1, 125, 126, 127, 65_535, 65_536, 70_000]
            .into_iter()
            .map(|length| "x".repeat(length))
            .collect();
        let mut bytes: Vec<u8> = texts.iter().flat_map(|t| server(0x81, t.as_bytes())).collect();
        bytes.extend(server(0x89, b"ping"));
        bytes.extend(server(0x88, b""));
        for cut in [1, 2, 3, 7, 1000, 65_537, bytes.len()] {
            let mut frames = Frames::default();
            let mut got = Vec::new();
            for piece in bytes.chunks(cut) {
                frames.feed(piece, |kind, payload| got.push((kind, payload.to_vec()))).unwrap();
            }
            let (found, others) = got.split_at(texts.len());
            let expected: Vec<_> = texts.iter().map(|t| (Kind::Text, t.clone().into())).collect();
            assert_eq!(found, expected, "cut by {cut}");
            assert_eq!(others, [(Kind::Other, b"ping".to_vec()), (Kind::Close, Vec::new())]);
        }
    }

    #[test]
    fn what_is_no_frame_of_a_server_is_refused() {
        for bytes in
            [&[0x01, 0x00][..], &from_client("masked"), &[0x81, 127, 255, 0, 0, 0, 0, 0, 0, 0]]
        {
            assert_eq!(Frames::default().feed(bytes, |_, _| {}), Err(BadFrame), "{bytes:?}");
        }
    }
}
