//! What a hop costs a process that stamps and records (METHOD 21).
//!
//! Each figure is of a whole trace of [`HOPS`] hops, delivered: divide by that, or read the
//! throughput, which is in hops. `trace` is everything together: the goal of 250 ns a hop is
//! 4 Mitem/s there. `cold` has a large block of memory written between two traces, so that
//! nothing of ours is in the processor's own caches: so runs a gateway that gets a message now
//! and then.

#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use hopwatch_kit::clock::mono_ns;
use hopwatch_kit::{Shutdown, SystemClock};
use hopwatch_link::{Http1, Http1Config, RecordSender, RecordSenderConfig, Target};
use hopwatch_model::{ClockId, Hop, Ns, Outcome, PublisherId, Stamps, Trace, TraceId};
use hopwatch_wire::headers::{ServiceStamps, served_ns};
use hopwatch_wire::record::{EntryRef, Record, TraceRecord};
use std::sync::Arc;
use tokio::runtime::Runtime;

/// The hops of a delivered message whose connections were open; the gateway reads its clock about
/// as often, for some stamps need no reading of its own and some of its readings are no stamp.
const HOPS: usize = 14;

const AI_STAMPS: &str = "clock=7b0ab1e8-9f43-4e9c-8b0e-2f8f6e1f7a10/4026531834; \
     received=4180556678719; begun=4180556680001; done=4181556680001";
const AI_TIMING: &str = "wait;dur=0.001282, infer;dur=1000.0";
const WEB_STAMPS: &str = "clock=7b0ab1e8-9f43-4e9c-8b0e-2f8f6e1f7a10/4026531834; \
     received=4181557678719; done=4181557690001";
const WEB_TIMING: &str = "handle;dur=0.011282";

/// Larger than a core's own caches.
const BLOCK: usize = 8 << 20;

fn main() {
    divan::main();
}

#[divan::bench]
fn read_clock(bencher: Bencher<'_, '_>) {
    bencher.counter(ItemsCount::new(HOPS)).bench_local(|| {
        for _ in 0..HOPS {
            black_box(mono_ns());
        }
    });
}

/// What the services tell of their hops, out of their replies' headers.
#[divan::bench]
fn read_headers(bencher: Bencher<'_, '_>) {
    bencher.counter(ItemsCount::new(HOPS)).bench_local(headers);
}

#[divan::bench]
fn set_stamps(bencher: Bencher<'_, '_>) {
    let (clock, told) = (clock(), headers());
    bencher.counter(ItemsCount::new(HOPS)).bench_local(|| stamps(&clock, &told, || 1));
}

/// From a finished trace to a record in the spool.
#[divan::bench(sample_count = 100, sample_size = 100)]
fn hand_over(bencher: Bencher<'_, '_>) {
    let spool = Spool::new();
    let bencher = bencher.counter(ItemsCount::new(HOPS));
    bencher.with_inputs(example).bench_local_values(|trace| spool.take(trace));
}

/// In the background: from the spool to the body of a request.
#[divan::bench]
fn write_json(bencher: Bencher<'_, '_>) {
    let record = wire_form(example());
    let bencher = bencher.counter(ItemsCount::new(HOPS));
    bencher.with_inputs(|| Vec::with_capacity(1024)).bench_local_refs(|body| json(&record, body));
}

#[divan::bench_group(sample_count = 1000)]
mod trace {
    use super::{Bencher, Whole, evict};

    #[divan::bench(sample_size = 10)]
    fn hot(bencher: Bencher<'_, '_>) {
        let mut whole = Whole::new();
        bencher.counter(super::ItemsCount::new(super::HOPS)).bench_local(|| whole.trace());
    }

    #[divan::bench(sample_size = 1)]
    fn cold(bencher: Bencher<'_, '_>) {
        let mut whole = Whole::new();
        let mut block = vec![0_u8; super::BLOCK];
        let bencher = bencher.counter(super::ItemsCount::new(super::HOPS));
        bencher.with_inputs(|| evict(&mut block)).bench_local_values(|()| whole.trace());
    }
}

/// Everything that one message costs, one after the other.
struct Whole {
    clock: ClockId,
    spool: Spool,
    /// Written instead of the spool's own newest, which is the same but for its times.
    record: Record,
}

impl Whole {
    fn new() -> Self {
        Self { clock: clock(), spool: Spool::new(), record: wire_form(example()) }
    }

    fn trace(&mut self) -> Vec<u8> {
        let told = headers();
        let stamps = stamps(&self.clock, &told, mono_ns);
        self.spool.take(Trace { stamps, ..blank() });
        let mut body = Vec::with_capacity(1024);
        json(&self.record, &mut body);
        body
    }
}

/// A sender whose background never gets to run, so that only the handing over is timed.
struct Spool {
    sender: RecordSender,
    _runtime: Runtime,
}

impl Spool {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let entered = runtime.enter();
        let target = Target::parse("http://127.0.0.1:9/v1/records").unwrap();
        let link = Http1::new(Http1Config::new(target), Arc::new(SystemClock::default())).unwrap();
        let config = RecordSenderConfig::new("gateway-of-the-bench".to_owned());
        let (sender, _) = RecordSender::start(link, config, Shutdown::new());
        drop(entered);
        Self { sender, _runtime: runtime }
    }

    fn take(&self, trace: Trace) {
        self.sender.send(wire_form(trace));
        assert_eq!(self.sender.dropped(), 0, "a full spool costs less");
    }
}

fn wire_form(trace: Trace) -> Record {
    Record::Trace(Box::new(TraceRecord::from(trace)))
}

fn json(record: &Record, body: &mut Vec<u8>) {
    let source = "gateway-2c1e0c6e-9c1d-4d7b-a1c7-1f6de7c7a0a1";
    let entry = EntryRef { source, number: 12_345, record };
    serde_json::to_writer(&mut *body, &entry).unwrap();
    body.push(b'\n');
}

type Told = [(Option<ServiceStamps>, Option<(Ns, Ns)>); 2];

fn headers() -> Told {
    let told =
        |stamps, timing| (ServiceStamps::parse(black_box(stamps)), served_ns(black_box(timing)));
    [told(AI_STAMPS, AI_TIMING), told(WEB_STAMPS, WEB_TIMING)]
}

fn stamps(clock: &ClockId, told: &Told, now: impl Fn() -> Ns) -> Stamps {
    let mut stamps = Stamps::new();
    stamps.set(Hop::Written, &ClockId::wall(), now());
    let of_gateway =
        [Hop::Received, Hop::Taken, Hop::Started, Hop::AiSent, Hop::AiAnswered, Hop::WebSent];
    stamps.set(Hop::Published, &ClockId::wall(), now());
    for hop in of_gateway {
        stamps.set(hop, clock, now());
    }
    let [ai, web] = told;
    let (ai, web) = (ai.0.as_ref().unwrap(), web.0.as_ref().unwrap());
    for (hop, served, ns) in [
        (Hop::AiReceived, ai, ai.received),
        (Hop::AiBegun, ai, ai.begun.unwrap()),
        (Hop::AiDone, ai, ai.done),
        (Hop::WebReceived, web, web.received),
        (Hop::WebDone, web, web.done),
    ] {
        black_box(now());
        stamps.set(hop, &served.clock, ns);
    }
    stamps.set(Hop::WebAcked, clock, now());
    stamps
}

fn clock() -> ClockId {
    hopwatch_kit::clock::clock_id()
}

fn example() -> Trace {
    Trace { stamps: stamps(&clock(), &headers(), mono_ns), ..blank() }
}

/// A trace as a gateway has it, without stamps.
fn blank() -> Trace {
    Trace {
        lane: "best-effort".to_owned(),
        gateway: String::new(),
        id: TraceId([0x5a; 16]),
        robot_id: "robot_001".to_owned(),
        sequence: 12_345,
        message_id: "0b0e7a0e-7f0c-4b5a-9c55-0d3b1f6a1f00".to_owned(),
        publisher: PublisherId([0xa5; 16]),
        publication_sequence: Some(12_346),
        outcome: Outcome::Delivered,
        detail: None,
        stamps: Stamps::new(),
        ai_served_ns: None,
        web_served_ns: None,
        ai_retries: 0,
        web_retries: 0,
        wall_offset_ns: Some(1_790_000_000_000_000_000),
        header_time: None,
        wall_half_width_ns: 40,
        oddities: Vec::new(),
    }
}

/// Leaves nothing but itself in the caches of this core.
fn evict(block: &mut [u8]) {
    for line in block.chunks_mut(64) {
        line[0] = line[0].wrapping_add(1);
    }
    black_box(block);
}
