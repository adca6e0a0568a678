use super::*;
use crate::decompose::decompose;
use crate::lane::tests::{GATEWAY, trace_of};
use hopwatch_model::Leg;
use hopwatch_testkit::{FalseClock, Path, chance, round_trip};
use rand::Rng;

const US: Ns = 1_000;
const MS: Ns = 1_000_000;
const S: Ns = 1_000_000_000;
/// What the gateway's wall clock shows above its monotonic one.
const UNIX: Ns = 1_700_000_000 * S;

/// A run of a pipeline whose services and robot have clocks of their own, with the truth.
struct World {
    traces: Vec<Trace>,
    peers: Vec<PeerExchange>,
    census: Census,
    /// True length of (`ros`, `ai_request`, `ai_reply`, `web_request`, `web_reply`, intended span).
    truth: Vec<[Ns; 6]>,
}

/// The gateway's clock is true time: no stamp of it is off.
fn world(seed: u64) -> World {
    let mut chance = chance(seed);
    let gateway = FalseClock::new(0, 0.0);
    let mut clock = |span: Ns| {
        FalseClock::new(chance.random_range(-span..span), chance.random_range(-49.0..49.0))
    };
    let (ai, web, robot) = (clock(100_000 * S), clock(S), clock(100_000 * S));
    let mut robot_wall = robot.clone();
    robot_wall.offset_ns = UNIX + chance.random_range(-S..S);
    let mut path = || Path {
        least_ns: chance.random_range(20 * US..3 * MS),
        jitter_ns: chance.random_range(0.0..1e6),
        loss: 0.0,
    };
    let ((ai_out, ai_back), (web_out, web_back)) = ((path(), path()), (path(), path()));
    let (probe_out, probe_back, dds) = (path(), path(), path());
    let (ai_clock, web_clock, far) =
        (ClockId::new("ai"), ClockId::new("web"), ClockId::new("robot"));
    let (mut traces, mut truth, mut peers) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..120 {
        let at = i * 100 * MS;
        let asked = round_trip(at, (&gateway, &robot), (probe_out, probe_back), US, &mut chance);
        let asked = asked.unwrap();
        peers.push(PeerExchange {
            peer: "p".into(),
            robots: vec![],
            near: ClockId::new(GATEWAY),
            far: far.clone(),
            near_sent: asked.stamps[0],
            far_received: (asked.stamps[1], robot_wall.read(asked.truth[1])),
            far_sent: (asked.stamps[2], robot_wall.read(asked.truth[2])),
            near_received: asked.stamps[3],
        });
    }
    for i in 0..40_u64 {
        let due = S + Ns::try_from(i).unwrap() * 250 * MS;
        let published = due + 100 * US;
        let written = published + 20 * US;
        let received = written + dds.delay(&mut chance).unwrap();
        let taken = received + 30 * US;
        let ai_trip =
            round_trip(taken + 50 * US, (&gateway, &ai), (ai_out, ai_back), 10 * MS, &mut chance);
        let ai_trip = ai_trip.unwrap();
        let web_trip = round_trip(
            ai_trip.truth[3] + 20 * US,
            (&gateway, &web),
            (web_out, web_back),
            10 * US,
            &mut chance,
        );
        let web_trip = web_trip.unwrap();
        let mut trace = trace_of(&[
            (Hop::Received, received),
            (Hop::Taken, taken),
            (Hop::Started, taken + 10 * US),
            (Hop::AiSent, ai_trip.stamps[0]),
            (Hop::AiAnswered, ai_trip.stamps[3]),
            (Hop::WebSent, web_trip.stamps[0]),
            (Hop::WebAcked, web_trip.stamps[3]),
        ]);
        trace.sequence = i32::try_from(i).unwrap();
        trace.publication_sequence = Some(i + 1);
        trace.id.0[..8].copy_from_slice(&i.to_be_bytes());
        trace.wall_offset_ns = Some(UNIX);
        trace.wall_half_width_ns = 40;
        let stamps = &mut trace.stamps;
        stamps.set(Hop::AiReceived, &ai_clock, ai_trip.stamps[1]);
        stamps.set(Hop::AiDone, &ai_clock, ai_trip.stamps[2]);
        stamps.set(Hop::WebReceived, &web_clock, web_trip.stamps[1]);
        stamps.set(Hop::WebDone, &web_clock, web_trip.stamps[2]);
        stamps.set(Hop::Published, &ClockId::wall(), robot_wall.read(published));
        stamps.set(Hop::Written, &ClockId::wall(), robot_wall.read(written));
        let (a, w) = (ai_trip.truth, web_trip.truth);
        truth.push([
            received - written,
            a[1] - a[0],
            a[3] - a[2],
            w[1] - w[0],
            w[3] - w[2],
            w[3] - due,
        ]);
        traces.push(trace);
    }
    // Its schedule is on its own clock, which runs at its own rate.
    let (start, next) = (robot.read(S), robot.read(2 * S));
    let rate_hz = 4.0 * 1e9 / f64::from(i32::try_from(next - start).unwrap());
    let census = Census {
        robot_id: "robot_001".into(),
        instance: "i".into(),
        clock: far,
        schedule_start_ns: start,
        rate_hz,
        first_sequence: 0,
        published: 40,
        failed: 0,
        last: true,
    };
    World { traces, peers, census, truth }
}

#[test]
fn every_leg_across_clocks_holds_the_truth() {
    for seed in 0..1_000 {
        let world = world(seed);
        let clocks = Clocks::of(&world.traces, &world.peers);
        for (trace, truth) in world.traces.iter().zip(&world.truth) {
            let d = decompose(trace, &[&world.census], &clocks).unwrap();
            let of = |leg: Leg| d.legs().find(|l| l.leg == leg).map(|l| (l.ns, l.half_ns));
            let told = [
                of(Leg::Ros),
                of(Leg::AiRequest),
                of(Leg::AiReply),
                of(Leg::WebRequest),
                of(Leg::WebReply),
                d.intended,
            ];
            for (i, (told, truth)) in told.iter().zip(truth).enumerate() {
                let (ns, half) = told.unwrap_or_else(|| panic!("seed {seed}: {i} is missing"));
                assert!(
                    // A robot's clock rounds its rate: a nanosecond or two.
                    (ns - truth).abs() <= half + 3,
                    "seed {seed}, leg {i}: {truth} is not {ns} ± {half}"
                );
            }
            // The sum of request and reply needs no agreement but on the rates.
            let sum = truth[1] + truth[2];
            let (ns, half) = d.ai_transport.unwrap();
            assert!((ns - sum).abs() <= half + 1, "seed {seed}: {ns} ± {half} {sum}");
            assert!(half <= 10 * MS / 1_000_000 * 50 + 50, "{half}");
            assert_eq!(of(Leg::Write).map(|(_, half)| half), Some(0));
        }
    }
}

/// A constant added to one host's clock changes no leg of one clock, and no total.
#[test]
fn a_constant_changes_no_one_clock_leg() {
    let plain = world(3);
    let mut shifted = world(3);
    for trace in &mut shifted.traces {
        for hop in [Hop::AiReceived, Hop::AiDone] {
            let ns = trace.stamps.get(hop).unwrap().ns + 12_345 * S;
            trace.stamps.set(hop, &ClockId::new("ai"), ns);
        }
    }
    let legs = |world: &World| -> Vec<_> {
        let clocks = Clocks::of(&world.traces, &world.peers);
        let of = |trace| decompose(trace, &[&world.census], &clocks).unwrap();
        world.traces.iter().map(of).collect()
    };
    assert_eq!(legs(&plain), legs(&shifted));
}

#[test]
fn without_a_relation_nothing_is_said() {
    let world = world(5);
    let none = Clocks::default();
    let d = decompose(&world.traces[0], &[&world.census], &none).unwrap();
    assert_eq!((d.published, d.intended), (None, None));
    assert_eq!(d.before.iter().map(|l| l.leg).collect::<Vec<_>>(), [Leg::Wake]);
    assert!(d.pipeline.iter().any(|l| l.leg == Leg::AiTransport && l.half_ns < 1_000));
    // A robot without a census is placed when somebody said where it runs.
    let mut peers = world.peers.clone();
    let clocks = Clocks::of(&world.traces, &peers);
    assert_eq!(clocks.host_of(&world.traces[0], &[]), RobotHost::Here);
    peers[0].robots = vec!["robot_001".into()];
    let clocks = Clocks::of(&world.traces, &peers);
    let host = RobotHost::Elsewhere(ClockId::new("robot"));
    assert_eq!(clocks.host_of(&world.traces[0], &[]), host);
    let d = decompose(&world.traces[0], &[], &clocks).unwrap();
    assert!(d.published.is_some() && d.intended.is_none());
}
