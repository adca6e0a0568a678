//! Made-up runs for the tests of pages.

use hopwatch_analysis::{Dataset, LaneInfo};
use hopwatch_model::{
    Census, ClockId, GatewayCounters, Hop, Ns, Outcome, PublisherId, Stamps, Trace, TraceId,
};
use hopwatch_testkit::chance;
use rand::Rng;

/// A millisecond.
pub(crate) const MS: Ns = 1_000_000;
/// A microsecond.
pub(crate) const US: Ns = 1_000;
/// What a text from outside may be at its worst.
pub(crate) const HOSTILE: &str = "</title></style><script>alert('x')</script><img src=x onerror=\"y\">&amp;]]>\
                       --\u{202e}\u{0}\u{ffff}";

/// A message taken at `at`, with its legs drawn by chance.
fn message(lane: &str, number: u64, at: Ns, ai: Ns, chance: &mut impl Rng) -> Trace {
    let clock = ClockId::new("gateway");
    let mut stamps = Stamps::new();
    let mut us = |most: i64| chance.random_range(US..most * US);
    let mut t = at - 300 * US;
    for (hop, leg) in [
        (Hop::Published, 0),
        (Hop::Written, 30 * US),
        (Hop::Received, 150 * US),
        (Hop::Taken, 120 * US),
        (Hop::Started, us(20)),
        (Hop::AiSent, us(80)),
        (Hop::AiReceived, us(400)),
        (Hop::AiBegun, us(10)),
        (Hop::AiDone, ai + us(300)),
        (Hop::AiAnswered, us(400)),
        (Hop::WebSent, us(60)),
        (Hop::WebReceived, us(300)),
        (Hop::WebDone, us(20)),
        (Hop::WebAcked, us(200)),
    ] {
        t += leg;
        stamps.set(hop, &clock, t);
    }
    Trace {
        lane: lane.into(),
        gateway: "g".into(),
        id: TraceId((u128::from(number) + lane.len() as u128 * 1_000_000_000).to_be_bytes()),
        robot_id: "robot_001".into(),
        sequence: i32::try_from(number).unwrap() - 1,
        message_id: format!("{lane}-{number}"),
        publisher: PublisherId([1; 16]),
        publication_sequence: Some(number),
        outcome: Outcome::Delivered,
        detail: None,
        stamps,
        ai_served_ns: None,
        web_served_ns: None,
        ai_retries: 0,
        web_retries: 0,
        wall_offset_ns: None,
        header_time: None,
        wall_half_width_ns: 0,
        oddities: vec![],
    }
}

/// One lane whose robot published `n` messages, all of them taken and delivered.
pub(crate) fn add_lane(data: &mut Dataset, lane: &str, n: u64, period: Ns, workers: u32) {
    let mut chance = chance(n + u64::try_from(lane.len()).unwrap());
    for number in 1..=n {
        let at = i64::try_from(number).unwrap() * period;
        data.traces.push(message(lane, number, at, 10 * MS, &mut chance));
    }
    data.census.push((
        lane.into(),
        Census {
            robot_id: "robot_001".into(),
            instance: format!("{lane}-i"),
            clock: ClockId::new("gateway"),
            schedule_start_ns: period - 400 * US,
            rate_hz: 1e9 / crate::words::float(period),
            first_sequence: 0,
            published: n,
            failed: 0,
            last: true,
        },
    ));
    data.counters.push(GatewayCounters {
        gateway: "g".into(),
        lane: lane.into(),
        taken: n,
        finished: n,
        last: true,
        ..GatewayCounters::default()
    });
    let info = LaneInfo {
        name: lane.into(),
        topic: "/robot_messages".into(),
        qos: "BEST_EFFORT VOLATILE KEEP_LAST 1".into(),
        transport: "http1".into(),
        workers,
        clock: "gateway".into(),
    };
    data.lanes.insert(lane.into(), info);
}

/// What any page must be: well-formed, with nothing from elsewhere, every number finite, each id
/// there once, each reference to one that is there. Gives its texts in one.
pub(crate) fn sound(html: &str) -> String {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let page = roxmltree::Document::parse_with_options(html, options)
        .unwrap_or_else(|error| panic!("{error}\n{html}"));
    let mut ids = std::collections::BTreeSet::new();
    let mut meant = Vec::new();
    for node in page.descendants().filter(roxmltree::Node::is_element) {
        let tag = node.tag_name().name();
        assert!(
            !["script", "link", "img", "iframe", "object", "use", "image"].contains(&tag),
            "<{tag}>"
        );
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(!name.starts_with("on") && name != "src" && name != "style", "{name}={value}");
            match name {
                "href" => meant.push(value.strip_prefix('#').expect(value)),
                "aria-labelledby" => meant.extend(value.split(' ')),
                "id" => assert!(ids.insert(value), "two of {value}"),
                "x" | "y" | "x1" | "x2" | "y1" | "y2" | "cx" | "cy" | "width" | "height" => {
                    let number: f64 = value.parse().unwrap_or_else(|_| panic!("{name}={value}"));
                    assert!(number.is_finite() && number.abs() < 1e5, "{name}={value}");
                }
                "d" | "viewBox" => {
                    let letters = |c: char| !c.is_ascii_digit() && c != '.' && c != '-';
                    for number in value.split(letters).filter(|part| !part.is_empty()) {
                        let number: f64 = number.parse().unwrap_or_else(|_| panic!("{value}"));
                        assert!(number.is_finite() && number.abs() < 1e5, "{value}");
                    }
                    assert!(!value.contains("NaN") && !value.contains("inf"), "{value}");
                }
                _ => {}
            }
        }
        if tag == "svg" && node.attribute("role").is_some() {
            for name in ["title", "desc"] {
                let text = node
                    .children()
                    .find(|child| child.has_tag_name(("http://www.w3.org/2000/svg", name)));
                let text = text.and_then(|text| text.text()).unwrap_or_default();
                assert!(!text.is_empty(), "a chart without a {name}");
            }
        }
    }
    for id in meant {
        assert!(ids.contains(id), "nothing is called {id}");
    }
    let texts = page.descendants().filter(|node| {
        node.is_text() && node.parent().is_none_or(|of| of.tag_name().name() != "style")
    });
    texts.filter_map(|node| node.text()).collect::<Vec<_>>().join(" ")
}
