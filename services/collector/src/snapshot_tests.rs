use super::*;
use crate::told::Told;

const S: Ns = 1_000_000_000;

fn answer(peer: &str, near: &str, at: Ns, way: Ns) -> PeerExchange {
    PeerExchange {
        peer: peer.into(),
        robots: vec![],
        near: ClockId::new(near),
        far: ClockId::new(format!("far {peer}")),
        near_sent: at - way,
        far_received: (at, at),
        far_sent: (at, at),
        near_received: at,
    }
}

/// Messages of the fixture, one a second.
fn messages(count: i64) -> Vec<Trace> {
    let text = include_str!("../../../crates/wire/fixtures/records-v1.ndjson");
    let trace = text.lines().find_map(|line| match Told::read(line).unwrap().what {
        crate::told::What::Trace(trace) => Some(*trace),
        _ => None,
    });
    let trace = trace.unwrap();
    let gateway = ClockId::new("gateway");
    (0..count)
        .map(|i| {
            let mut trace = trace.clone();
            trace.id = TraceId(u128::try_from(i).unwrap().to_be_bytes());
            trace.stamps.set(Hop::Taken, &gateway, i * S);
            trace
        })
        .collect()
}

/// 1000 messages at 1 Hz take 1000 s; a responder answers ten times a second.
#[test]
fn answers_reach_as_far_as_the_messages() {
    let traces = messages(1_000);
    let in_window: HashMap<TraceId, &Trace> = traces.iter().map(|t| (t.id, t)).collect();
    let answers: Vec<PeerExchange> = (0..20_000)
        .rev()
        .map(|i| answer("a", "gateway", (i - 5_000) * S / 10, S / 1_000))
        .collect();
    let found = peers_near(&in_window, answers.iter());
    let ages: Vec<Ns> = found.iter().map(|e| e.near_received).collect();
    let (first, last) = (ages.iter().min().unwrap(), ages.iter().max().unwrap());
    assert!((-60 * S..-58 * S).contains(first), "{first}");
    assert!((1_057 * S..=1_059 * S).contains(last), "{last}");
    assert!((3_000..=PEERS).contains(&found.len()), "{}", found.len());
    let gap = ages.windows(2).map(|w| (w[1] - w[0]).abs()).max().unwrap();
    assert!(gap < S, "{gap}");
}

#[test]
fn thinned_answers_are_the_tightest_of_each_responder() {
    let traces = messages(1_000);
    let in_window: HashMap<TraceId, &Trace> = traces.iter().map(|t| (t.id, t)).collect();
    // Two that take turns; each tenth of one is fast. And one of another gateway's clock.
    let answers: Vec<PeerExchange> = (0..20_000)
        .map(|i| {
            let way = if i % 20 == 0 { 1_000 } else { 1_000_000 };
            answer(["a", "b"][usize::try_from(i % 2).unwrap()], "gateway", i * S / 20, way)
        })
        .chain((0..100).map(|i| answer("c", "elsewhere", i * S, 1)))
        .collect();
    let found = peers_near(&in_window, answers.iter());
    let of = |peer: &str| found.iter().filter(|e| e.peer == peer).count();
    assert_eq!((of("a"), of("b"), of("c")), (2_500, 2_500, 0));
    let fast = found.iter().filter(|e| e.near_received - e.near_sent == 1_000).count();
    assert_eq!(fast, 1_000, "none of the fast ones is left out");
    // Few are all taken, and without messages there is nothing to relate.
    assert_eq!(peers_near(&in_window, answers.iter().take(100)).len(), 100);
    assert!(peers_near(&HashMap::new(), answers.iter()).is_empty());
}
