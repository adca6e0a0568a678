use super::*;
use proptest::prelude::*;

fn request() -> RequestHead {
    RequestHead {
        id: RequestId { asker: u64::MAX, number: 7 },
        attempt: 2,
        retries: true,
        age_ns: 50_000_000,
        deadline_ns: 5_000_000_000,
        path: "/v1/infer".to_owned(),
        trace: Some(TraceId(*b"0123456789abcdef")),
        clock: Some("b/4026531834".to_owned()),
        authorization: Some("Bearer s3cret".to_owned()),
        media_type: "application/json".to_owned(),
    }
}

fn reply() -> ReplyHead {
    ReplyHead {
        id: request().id,
        attempt: 1,
        status: 200,
        media_type: "application/json".to_owned(),
        stamps: Some("clock=b/1; received=1; done=2".to_owned()),
        server_timing: None,
        oversized: Some(70_000),
    }
}

fn read(frame: Vec<u8>) -> Result<Envelope, EnvelopeError> {
    Envelope::read(&Bytes::from(frame))
}

#[test]
fn envelopes_round_trip() {
    for body in [&b""[..], b"{\"a\":1}", &vec![0xff; 70_000]] {
        let body = Bytes::copy_from_slice(body);
        let envelope = read(request().frame(&body).unwrap()).unwrap();
        assert_eq!(envelope, Envelope::Request(request(), body.clone()));
        let bare = RequestHead { trace: None, clock: None, authorization: None, ..request() };
        let envelope = read(bare.frame(&body).unwrap()).unwrap();
        assert_eq!(envelope, Envelope::Request(bare, body.clone()));
        let envelope = read(reply().frame(&body).unwrap()).unwrap();
        assert_eq!(envelope, Envelope::Reply(reply(), body));
    }
    let taken = TakenHead { id: request().id, attempt: 3 };
    assert_eq!(read(taken.frame().unwrap()).unwrap(), Envelope::Taken(taken));
}

#[test]
fn the_bytes_are_a_contract() {
    let taken = TakenHead { id: RequestId { asker: 1, number: 2 }, attempt: 3 };
    let expected = b"HOPW\x01\x03\x00\x1d\x82\xa2id\x82\xa5asker\x01\xa6number\x02\xa7attempt\x03";
    assert_eq!(taken.frame().unwrap(), expected);
}

#[test]
fn fields_of_the_future_are_passed_over_and_missing_ones_refused() {
    #[derive(Serialize)]
    struct Later<'a> {
        #[serde(flatten)]
        head: &'a TakenHead,
        colour: &'a str,
    }
    let head = TakenHead { id: request().id, attempt: 3 };
    let later = frame(3, &Later { head: &head, colour: "green" }, &[]).unwrap();
    assert_eq!(read(later).unwrap(), Envelope::Taken(head));
    assert!(matches!(read(frame(1, &head, &[]).unwrap()), Err(EnvelopeError::Head(_))));
}

#[test]
fn hostile_bytes_are_refused_by_name() {
    let good = request().frame(b"body").unwrap();
    let with = |at: usize, byte: u8| {
        let mut frame = good.clone();
        frame[at] = byte;
        read(frame).unwrap_err().to_string()
    };
    assert_eq!(with(0, b'X'), "it isn't an envelope of Hopwatch");
    assert_eq!(with(4, 2), "version 2 of the envelope isn't known, only 1");
    assert_eq!(with(5, 9), "kind 9 of an envelope isn't known");
    assert_eq!(
        with(6, 0xff),
        format!("the head has {} bytes, more than 4096", 0xff00 + good.len() - 8 - 4)
    );
    assert_eq!(with(6, 0x0f), "the envelope ends inside its head");
    assert_eq!(with(8, 0xc1), "the head can't be read");
    for length in 0..good.len() - 4 {
        assert!(read(good[..length].to_vec()).is_err(), "{length}");
    }
    let long = RequestHead { path: "x".repeat(5000), ..request() };
    assert!(matches!(long.frame(b""), Err(EnvelopeError::Long(_))));
    // A text that claims 4 GiB, and a map of maps of maps.
    let claim = [b"HOPW\x01\x01\x00\x06\x81\xdb\xff\xff\xff\xff".to_vec(), vec![0; 64]].concat();
    assert!(read(claim).is_err());
    let deep = [b"HOPW\x01\x01\x0f\xff".to_vec(), vec![0x81; 0xfff]].concat();
    assert!(read(deep).is_err());
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(bytes.clone());
        let _ = read([b"HOPW\x01\x01\x00\x80".to_vec(), bytes].concat());
    }

    #[test]
    fn a_changed_byte_makes_it_an_error_or_another_envelope(at in 0_usize..200, byte: u8) {
        let mut frame = request().frame(b"body").unwrap();
        let at = at % frame.len();
        frame[at] = byte;
        let _ = read(frame);
    }
}
