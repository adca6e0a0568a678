use super::*;
use hopwatch_kit::net::{self, Token};
use hopwatch_kit::{Clock, SystemClock};
use hopwatch_link::{ECHO, LinkConfig, Server, Target, open};

const PATIENCE: Duration = Duration::from_secs(30);

/// A service with an echo handler on all links, and links to it that keep connections for less
/// than a round.
async fn probed(end: &Shutdown) -> Vec<Probed> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let listener = net::bind("127.0.0.1:0".parse().unwrap(), &Token::none()).await.unwrap();
    let url = format!("http://{}{ECHO}", listener.local_addr().unwrap());
    let server = Server::new(Arc::clone(&clock), Token::none(), 1 << 20);
    let routes = server.open(&listener, None, end).await.unwrap().routes;
    tokio::spawn(net::serve(listener, routes, end.clone()));
    let link = |kind| {
        let max_idle = Duration::from_millis(250);
        let config = LinkConfig { max_idle, ..LinkConfig::new(Target::parse(&url).unwrap()) };
        let link = open(kind, &config, Arc::clone(&clock)).unwrap();
        Probed { kind, stage: Stage::Web, link, is_current: kind == LinkKind::Http1 }
    };
    LinkKind::ALL.into_iter().map(link).collect()
}

/// At any pace, and with connections that no probe would find open otherwise.
#[tokio::test]
async fn every_link_but_the_fresh_one_is_measured_warm() {
    let end = Shutdown::new();
    let bodies: Arc<Bodies> = Arc::default();
    bodies.put(Stage::Web, &Bytes::from_static(b"{\"a\":1}"));
    let (told, mut probes) = tokio::sync::mpsc::unbounded_channel();
    let prober = Prober {
        rate_hz: 10.0,
        links: probed(&end).await,
        bodies,
        deadline: PATIENCE,
        record: Box::new(move |probe| {
            let _nobody_listens_any_more = told.send(probe);
        }),
    };
    let probing = tokio::spawn(prober.run(end.clone()));
    let links = LinkKind::ALL.len();
    for n in 0..2 * links {
        let probe = tokio::time::timeout(PATIENCE, probes.recv()).await.unwrap().unwrap();
        assert_eq!(probe.failure, None, "{probe:?}");
        let fresh = probe.link == LinkKind::Http1Fresh.name();
        // In the first round a link may have to ask where it goes to.
        if n >= links {
            assert_eq!(probe.connect_ns > 0, fresh, "{probe:?}");
        }
    }
    end.begin();
    probing.await.unwrap();
}
