//! Of the user's AI service.

use crate::doctor::finding::{Area, Finding};
use crate::doctor::look::service::{ENOUGH, Exchange, Idle, Service, Told};
use hopwatch_analysis::{DELAYED_ACK, NAGLE_FIX};

const SERVICE: Area = Area("AI service");

const MS: i64 = 1_000_000;
/// A path on which a connection takes as long to open would look like a delayed acknowledgement.
const FAR_NS: i64 = 30 * MS;
/// What happens less often than that isn't put down to chance.
const CHANCE: f64 = 0.05;

/// All of it; `None`: no service was named, or it is ours. `configured`: one that was not asked.
pub(crate) fn judge(service: Option<&Service>, configured: Option<&str>) -> Vec<Finding> {
    let Some(service) = service else {
        return configured.map(not_asked).into_iter().collect();
    };
    if service.is_secure {
        return vec![by_tls(&service.url)];
    }
    let mut all = Vec::new();
    let n = service.exchanges.len();
    if let Some(failure) = &service.failure {
        let what = format!("{}: {failure} (after {n} whole replies)", service.url);
        all.push(
            SERVICE
                .problem("reached", what)
                .why("the gateway would count its messages as failed")
                .todo("start it, mend the URL (http://host:port/path), or look into its log"),
        );
    } else {
        all.push(SERVICE.ok("reached", answers(service)));
    }
    if n == 0 {
        return all;
    }
    all.push(status(service));
    all.extend(nagle(service));
    all.push(connections(service));
    all.extend(idle(service));
    all.push(split(service));
    all
}

fn not_asked(url: &str) -> Finding {
    let why = "asking it sends requests to it, and --ai-url was not given";
    SERVICE
        .unknown("reached", format!("{url}, which the configuration names"), why)
        .todo(format!("hopwatch doctor --ai-url {url}"))
}

fn by_tls(url: &str) -> Finding {
    let why =
        "it is asked by TLS, and what is looked for (segments, idle connections) lies below it";
    SERVICE.unknown("reached", format!("{url}, which was not asked"), why).todo(
        "on its own host, ask it by http:// behind its TLS (hopwatch doctor --ai-url \
         http://127.0.0.1:PORT/PATH); or look at what hopwatch run reports of it",
    )
}

fn answers(service: &Service) -> String {
    // Those that were acknowledged at once took less than the gateway's would.
    let usual = service.exchanges.iter().filter(|of| !of.acknowledged);
    let mut took: Vec<i64> = usual.map(|of| of.took_ns).collect();
    took.sort_unstable();
    let at = |index: usize| millis(took.get(index).copied().unwrap_or(0));
    format!(
        "{} answers {} requests ({}): median {}, slowest {}",
        service.url,
        service.exchanges.len(),
        service.method,
        at(took.len() / 2),
        at(took.len().saturating_sub(1))
    )
}

fn status(service: &Service) -> Finding {
    const NAME: &str = "replies";
    let bad = service.exchanges.iter().find(|of| !(200..300).contains(&of.status));
    if let Some(Exchange { status, .. }) = bad {
        let counted =
            if (400..500).contains(status) || *status == 503 { "refused" } else { "failed" };
        return SERVICE
            .problem(NAME, format!("it answers with status {status}"))
            .why(format!("the gateway counts such messages as ai {counted}, not as delivered"))
            .todo(
                "its log says what it wants; --ai-method and --ai-body FILE send what it expects (422 of \
                 FastAPI: the body has other fields)",
            );
    }
    match service.exchanges.iter().find(|of| !of.is_json) {
        Some(of) if service.takes_any => SERVICE.ok(
            NAME,
            format!("its replies need not be JSON ({}): answer = \"any\"", of.content_type),
        ),
        Some(of) => SERVICE
            .problem(NAME, format!("its reply is no JSON ({})", of.content_type))
            .why(
                "the gateway counts it as ai bad_reply: its type must be application/json or …+json, \
                 and its body JSON",
            )
            .todo(
                "answer with a JSON body, content-type application/json; or let the gateway take \
                 anything ([gateway.ai] answer = \"any\", and --config here)",
            ),
        None => SERVICE.ok(NAME, "its replies are JSON, with a status of success"),
    }
}

/// Whether bodies come 40 ms after their heads, or whole replies 40 ms after the fastest.
fn nagle(service: &Service) -> Option<Finding> {
    const NAME: &str = "nagle";
    let n = service.exchanges.len();
    if n < ENOUGH {
        return None;
    }
    if let Some(ns) = service.connect_ns.filter(|ns| *ns >= FAR_NS) {
        let why = format!(
            "opening a connection takes {}: a path that long looks like a delayed acknowledgement; ask \
             it from its own host",
            millis(ns)
        );
        return Some(SERVICE.unknown(NAME, "whether it sets TCP_NODELAY", why));
    }
    let apart = service.exchanges.iter().filter(|of| DELAYED_ACK.contains(&of.body_ns)).count();
    if apart >= ENOUGH {
        return Some(late_bodies(NAME, service));
    }
    let fastest = service.exchanges.iter().map(|of| of.took_ns).min().unwrap_or(0);
    let base = if fastest < FAR_NS { fastest } else { 0 };
    let late = |of: &&Exchange| {
        DELAYED_ACK.contains(&of.body_ns) || DELAYED_ACK.contains(&(of.took_ns - base))
    };
    let late = service.exchanges.iter().filter(late).count();
    if late >= ENOUGH {
        let what = format!("{late} of {n} replies took 40 ms longer than the fastest");
        return Some(
            SERVICE
                .warning(NAME, what)
                .why("this is how Nagle with delayed ACK looks; a model that takes so long looks the same")
                .todo(NAGLE_FIX),
        );
    }
    Some(SERVICE.ok(NAME, format!("no reply of {n} waited for a delayed acknowledgement")))
}

/// What keeps bodies back: Nagle's algorithm lets go of them once the head is acknowledged, and a
/// service that streams its reply sends the head before it has the rest.
fn late_bodies(name: &'static str, service: &Service) -> Finding {
    let late = |of: &&Exchange| of.body_ns >= *DELAYED_ACK.start();
    let (tried, plain): (Vec<_>, Vec<_>) = service.exchanges.iter().partition(|of| of.acknowledged);
    let apart = plain.iter().copied().filter(late).count();
    let kept_back = tried.iter().copied().filter(late).count();
    let what = format!(
        "head and body came {} to {} ms apart in {apart} of {} replies",
        DELAYED_ACK.start() / MS,
        DELAYED_ACK.end() / MS,
        plain.len()
    );
    if kept_back == 0 && is_no_chance(apart, plain.len(), tried.len()) {
        let what =
            format!("{what}, and in none of {} whose head was acknowledged at once", tried.len());
        return SERVICE
            .problem(name, what)
            .why(
                "Nagle with delayed ACK: it writes head and body apart without TCP_NODELAY, and the \
                 kernel keeps the body back; it is neither HTTP's time nor the network's",
            )
            .todo(NAGLE_FIX);
    }
    if tried.len() >= ENOUGH && kept_back == tried.len() {
        let what = format!("{what}, and in all {kept_back} whose head was acknowledged at once");
        return SERVICE.note(name, what).why(
            "a reply that is streamed: its head comes before its body is made; no delayed ACK",
        );
    }
    SERVICE
        .warning(name, what)
        .why("delayed ACK with Nagle, or a reply that is streamed: here they look the same")
        .todo(format!("if it isn't streamed: {NAGLE_FIX}"))
}

/// Whether replies that come late as often as `late` of `n` would hardly all be in time `tried` times.
#[expect(clippy::cast_precision_loss, reason = "some 20 replies")]
fn is_no_chance(late: usize, n: usize, tried: usize) -> bool {
    let in_time = 1.0 - late as f64 / n.max(1) as f64;
    let all_in_time: f64 = std::iter::repeat_n(in_time, tried).product();
    tried >= ENOUGH && all_in_time < CHANCE
}

fn connections(service: &Service) -> Finding {
    const NAME: &str = "keep_alive";
    let n = service.exchanges.len();
    if service.connections <= 1 {
        return SERVICE.ok(NAME, format!("all {n} requests went over one connection"));
    }
    SERVICE
        .warning(NAME, format!("{n} requests needed {} connections", service.connections))
        .why(
            "opening one costs each message a round trip more, and a lost first packet a second",
        )
        .todo(
            "let it speak HTTP/1.1 with keep-alive (Flask's own server: \
             WSGIRequestHandler.protocol_version = \"HTTP/1.1\"; gunicorn: --keep-alive 75 and a worker \
             class that keeps connections, as gthread)",
        )
}

fn idle(service: &Service) -> Option<Finding> {
    const NAME: &str = "idle";
    let kept = service.kept.as_secs_f64();
    let after = match service.idle? {
        Idle::Closed(after) if after < service.kept => after,
        _ => {
            let what = format!("an idle connection stays open for {kept:.0} s and more");
            return Some(SERVICE.ok(NAME, what));
        }
    };
    let what = format!("it closes an idle connection after {:.1} s", after.as_secs_f64());
    Some(
        SERVICE
            .warning(NAME, what)
            .why(format!(
                "the gateway uses one again until {kept:.0} s: at low rates a request may meet a \
                 connection that is being closed"
            ))
            .todo(
                "let it keep connections for longer (uvicorn: --timeout-keep-alive 75, gunicorn: \
                 --keep-alive 75, Node: server.keepAliveTimeout = 75000)",
            ),
    )
}

/// Whether AI and transport can be told apart.
fn split(service: &Service) -> Finding {
    const NAME: &str = "split";
    let all = |is: fn(&Told) -> bool| service.exchanges.iter().all(|of| is(&of.told));
    if all(|told| *told == Told::Stamps) {
        return SERVICE
            .ok(NAME, "it sends hopwatch-stamps: AI and transport are told apart, each way");
    }
    let todo = "add one line to its reply, with the model's time in ms: \
                response.headers[\"Server-Timing\"] = f\"infer;dur={ms:.3f}\"";
    let too_long = service
        .exchanges
        .iter()
        .find(|of| matches!(of.told, Told::Duration(own) if own > of.took_ns));
    if let Some(Exchange { told: Told::Duration(own), took_ns, .. }) = too_long {
        return SERVICE
            .problem(
                NAME,
                format!(
                    "Server-Timing says {}, and the whole reply was there after {}",
                    millis(*own),
                    millis(*took_ns)
                ),
            )
            .why("an impossible time is not used: AI would include transport")
            .todo(
                "dur is in milliseconds; let it measure between the request's body and its answer",
            );
    }
    if all(|told| matches!(told, Told::Duration(_) | Told::Stamps)) {
        return SERVICE.ok(NAME, "it sends Server-Timing: AI and transport are told apart");
    }
    let what = if service.exchanges.iter().any(|of| of.told == Told::NoDuration) {
        "its Server-Timing has no duration: AI will include transport"
    } else if service.exchanges.iter().any(|of| of.told != Told::Nothing) {
        "only some replies have Server-Timing: of the others AI will include transport"
    } else {
        "it says nothing of its own time: AI will include transport"
    };
    SERVICE
        .note(NAME, what)
        .why("what the network takes can't be told from what the model takes, nor be improved on")
        .todo(todo)
}

#[expect(clippy::cast_precision_loss, reason = "times are far below 2^53 ns")]
fn millis(ns: i64) -> String {
    format!("{:.1} ms", ns as f64 / 1e6)
}

#[cfg(test)]
#[path = "service_tests.rs"]
mod tests;
