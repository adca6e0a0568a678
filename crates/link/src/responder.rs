//! A host's clocks by UDP: the responder of `hopwatch respond`, and the prober that asks it.
//!
//! A robot sends one way only, so nothing of the pipeline's own traffic relates its clock to the
//! gateway's. A question and an answer do (METHOD 3).

use hopwatch_kit::clock::{clock_id, mono_ns, wall_ns};
use hopwatch_kit::{Clock, Shutdown};
use hopwatch_model::PeerExchange;
use hopwatch_wire::clock_packet::{Answer, LENGTH, question, read_question};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UdpSocket;

/// Answers every question until the shutdown begins; anything else gets no answer.
/// Tells how many were answered and how many datagrams were none.
///
/// The first reading of each answer is made after the question was there and the last one before
/// the answer leaves, in either clock: whatever lies between only makes an interval wider.
pub async fn respond(socket: UdpSocket, shutdown: Shutdown) -> std::io::Result<(u64, u64)> {
    let clock = clock_id();
    let (mut answered, mut refused) = (0, 0);
    // One byte more than a question: a longer datagram is none.
    let mut buffer = [0; LENGTH + 1];
    loop {
        let (length, from) = tokio::select! {
            received = socket.recv_from(&mut buffer) => match received {
                Ok(received) => received,
                // An asker that is gone (ICMP unreachable) is no reason to end.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => continue,
                Err(error) => return Err(error),
            },
            () = shutdown.begun() => return Ok((answered, refused)),
        };
        let received = (mono_ns(), wall_ns());
        let Some(number) = read_question(&buffer[..length]) else {
            refused += 1;
            continue;
        };
        let answer =
            Answer { number, received, sent: (mono_ns(), wall_ns()), clock: clock.clone() };
        let Some(packet) = answer.write() else { continue };
        // One that can't be sent is lost, like any other datagram.
        if socket.send_to(&packet, from).await.is_ok() {
            answered += 1;
        }
    }
}

/// Whom to ask, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The responder.
    pub address: SocketAddr,
    /// Robots on that host that send no census.
    pub robots: Vec<String>,
}

/// A text that names no responder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} names no clock responder: write ADDRESS:PORT, or ROBOT@ADDRESS:PORT for a robot \
     that sends no census (several with + between), with commas between responders"
)]
pub struct PeerError {
    text: String,
}

impl Peer {
    /// Reads "10.0.0.5:8010, robot_001+robot_002@10.0.0.6:8010".
    pub fn parse_all(text: &str) -> Result<Vec<Self>, PeerError> {
        let one = |part: &str| {
            let (robots, address) = part.rsplit_once('@').unwrap_or(("", part));
            let refused = || PeerError { text: part.chars().take(100).collect() };
            let address: SocketAddr = address.trim().parse().map_err(|_| refused())?;
            let robots: Vec<String> = robots
                .split('+')
                .map(|robot| robot.trim().to_owned())
                .filter(|robot| !robot.is_empty())
                .collect();
            if part.contains('@') && robots.is_empty() || address.port() == 0 {
                return Err(refused());
            }
            Ok(Self { address, robots })
        };
        text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(one).collect()
    }
}

/// What a prober tells.
#[derive(Debug)]
pub enum Probed {
    /// An answer.
    Answered(PeerExchange),
    /// No answer for as long as 3 s, told once.
    Silent,
    /// Answers come (again) after that.
    Back,
}

/// How often a responder is asked. Between two answers clocks may drift by 50 ppm and wall clocks
/// be slewed by 500 ppm: 0.05 ms a side at most.
pub(crate) const PERIOD: Duration = Duration::from_millis(100);
/// How long a responder may say nothing before it is told of.
pub(crate) const SILENCE: Duration = Duration::from_secs(3);

/// Asks a responder every 0.1 s until the shutdown begins. Datagrams that are no answer to
/// the last question are passed over.
pub async fn probe(
    peer: Peer,
    clock: Arc<dyn Clock>,
    mut tell: impl FnMut(&Peer, Probed) + Send,
    shutdown: Shutdown,
) -> std::io::Result<()> {
    let any: SocketAddr =
        if peer.address.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
    let socket = UdpSocket::bind(any).await?;
    socket.connect(peer.address).await?;
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut heard = tokio::time::Instant::now();
    let mut silent = false;
    let mut number: u64 =
        u64::from_ne_bytes(*uuid::Uuid::new_v4().as_bytes().first_chunk().unwrap_or(&[0; 8]));
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = shutdown.begun() => return Ok(()),
        }
        number = number.wrapping_add(1);
        let near_sent = clock.now();
        let asked = socket.send(&question(number)).await.is_ok();
        let answer = tokio::time::timeout(PERIOD, answer_to(&socket, number, &*clock));
        match if asked { answer.await.ok().flatten() } else { None } {
            Some((answer, near_received)) => {
                heard = tokio::time::Instant::now();
                if std::mem::take(&mut silent) {
                    tell(&peer, Probed::Back);
                }
                let exchange = PeerExchange {
                    peer: peer.address.to_string(),
                    robots: peer.robots.clone(),
                    near: clock.id().clone(),
                    far: answer.clock,
                    near_sent,
                    far_received: answer.received,
                    far_sent: answer.sent,
                    near_received,
                };
                tell(&peer, Probed::Answered(exchange));
            }
            None if !silent && heard.elapsed() >= SILENCE => {
                silent = true;
                tell(&peer, Probed::Silent);
            }
            None => {}
        }
    }
}

async fn answer_to(socket: &UdpSocket, number: u64, clock: &dyn Clock) -> Option<(Answer, i64)> {
    let mut buffer = [0; LENGTH + 1];
    loop {
        let length = socket.recv(&mut buffer).await.ok()?;
        let near_received = clock.now();
        // Late answers to earlier questions, and anybody's rubbish.
        let answer = Answer::read(&buffer[..length]).filter(|answer| answer.number == number);
        if let Some(answer) = answer {
            return Some((answer, near_received));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopwatch_kit::SystemClock;

    #[test]
    fn peers_are_read_and_nonsense_is_refused() {
        let peers = Peer::parse_all("127.0.0.1:8010, a+b@[::1]:9").unwrap();
        assert_eq!(peers[0].robots, Vec::<String>::new());
        assert_eq!((peers[1].address.port(), peers[1].robots.len()), (9, 2));
        assert_eq!(Peer::parse_all(" ").unwrap(), []);
        for bad in ["localhost", "1.2.3.4", "@1.2.3.4:5", "robot@", "1.2.3.4:0", "1.2.3.4:99999"] {
            assert!(Peer::parse_all(bad).is_err(), "{bad}");
        }
    }

    #[tokio::test]
    async fn a_responder_answers_questions_and_nothing_else() {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let shutdown = Shutdown::new();
        let responding = tokio::spawn(respond(socket, shutdown.clone()));
        let asker = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        for rubbish in [&b""[..], b"HOPWATCH", &[0; 160], &[7; 1_000]] {
            asker.send_to(rubbish, address).await.unwrap();
        }
        let (sender, mut exchanges) = tokio::sync::mpsc::unbounded_channel();
        let probing = tokio::spawn(probe(
            Peer { address, robots: vec!["r".into()] },
            Arc::new(SystemClock::default()),
            move |_, probed| drop(sender.send(probed)),
            shutdown.clone(),
        ));
        for _ in 0..3 {
            let Some(Probed::Answered(exchange)) = exchanges.recv().await else { panic!() };
            assert_eq!((&exchange.far, exchange.robots.len()), (&exchange.near, 1));
            // One clock: the truth is 0, and it lies within.
            let (lo, hi) = (
                exchange.far_sent.0 - exchange.near_received,
                exchange.far_received.0 - exchange.near_sent,
            );
            assert!(lo <= 0 && 0 <= hi, "{exchange:?}");
            assert!(exchange.far_received.0 <= exchange.far_sent.0);
        }
        shutdown.begin();
        probing.await.unwrap().unwrap();
        let (answered, refused) = responding.await.unwrap().unwrap();
        assert!(answered >= 3 && refused == 4, "{answered} {refused}");
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_told_once_and_its_end_too() {
        // Somebody who listens and says nothing.
        let mute = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = mute.local_addr().unwrap();
        let shutdown = Shutdown::new();
        let (sender, mut told) = tokio::sync::mpsc::unbounded_channel();
        let probing = tokio::spawn(probe(
            Peer { address, robots: vec![] },
            Arc::new(SystemClock::default()),
            move |_, probed| drop(sender.send(probed)),
            shutdown.clone(),
        ));
        assert!(matches!(told.recv().await, Some(Probed::Silent)));
        let answering = tokio::spawn(respond(mute, shutdown.clone()));
        assert!(matches!(told.recv().await, Some(Probed::Back)));
        assert!(matches!(told.recv().await, Some(Probed::Answered(_))));
        shutdown.begin();
        probing.await.unwrap().unwrap();
        answering.await.unwrap().unwrap();
    }
}
