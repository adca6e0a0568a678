//! The services one by one, without `hopwatch`: so that a test can take one away and put it back.

use crate::program::Running;
use crate::world::World;
use serde_json::{Value, json};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A service of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// Takes records.
    Collector,
    /// Answers messages.
    Ai,
    /// Shows messages.
    Broadcaster,
    /// Takes messages.
    Gateway,
}

impl Service {
    /// All of them, in the order in which one needs the other.
    pub const ALL: [Self; 4] = [Self::Collector, Self::Ai, Self::Broadcaster, Self::Gateway];

    fn program(self) -> &'static str {
        match self {
            Self::Collector => "hopwatch-collector",
            Self::Ai => "hopwatch-ai-mock",
            Self::Broadcaster => "hopwatch-broadcaster",
            Self::Gateway => "hopwatch-gateway",
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.program().trim_start_matches("hopwatch-"))
    }
}

/// The four services, each at an address that it keeps.
pub struct Services<'w> {
    world: &'w World,
    /// Of the gateway.
    own: String,
    running: Vec<Running>,
}

impl<'w> Services<'w> {
    /// Starts all four, with a model of 2 ms; `own` are further words for the gateway.
    ///
    /// The records lie in `out` beside a run.json, as those of `hopwatch run` do.
    #[track_caller]
    pub fn start(world: &'w World, own: &str) -> Self {
        let out = world.path("out");
        std::fs::create_dir(&out).unwrap();
        std::fs::write(out.join("run.json"), run_file().to_string()).unwrap();
        let mut services = Self { world, own: own.to_owned(), running: Vec::new() };
        for service in Service::ALL {
            let mut running = services.spawn(service);
            assert_eq!(running.listening(), services.address(service));
            services.running.push(running);
        }
        services
    }

    /// The folder that can be reported.
    pub fn out(&self) -> PathBuf {
        self.world.path("out")
    }

    /// Where a service listens. Its port is the test's own as its ROS domain is, and none that
    /// Linux gives to somebody for the asking: it must be free when the service comes back.
    pub fn address(&self, service: Service) -> SocketAddr {
        let port = 21_000 + u16::from(self.world.domain()) * 4 + place(service);
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    fn spawn(&self, service: Service) -> Running {
        let url = |of, path| format!("http://{}{path}", self.address(of));
        let records = url(Service::Collector, "/v1/records");
        let words = match service {
            Service::Collector => {
                format!("--database {}", self.out().join("records.db").display())
            }
            Service::Ai => "--model-ms 2".to_owned(),
            Service::Broadcaster => format!("--collector-url {records}"),
            Service::Gateway => format!(
                "--collector-url {records} --ai-url {} --web-url {} {}",
                url(Service::Ai, "/v1/infer"),
                url(Service::Broadcaster, "/v1/messages"),
                self.own,
            ),
        };
        let program = self.world.built(service.program());
        let mut start = self.world.program(&program, &words);
        start.arg("--listen").arg(&self.address(service).to_string());
        if service != Service::Gateway {
            start.without_dds();
        }
        start.start()
    }

    /// The process of a service.
    pub fn of(&mut self, service: Service) -> &mut Running {
        &mut self.running[usize::from(place(service))]
    }

    /// Kills a service.
    pub fn kill(&mut self, service: Service) {
        let running = self.of(service);
        running.pid().kill();
        // Gone, and not only about to go: its port is free.
        running.wait();
    }

    /// Starts a service that was killed, as it was started before.
    pub fn again(&mut self, service: Service) {
        *self.of(service) = self.spawn(service);
    }

    /// All four run.
    #[track_caller]
    pub fn all_live(&mut self) {
        for service in Service::ALL {
            assert!(self.of(service).lives(), "the {service} has ended");
        }
    }

    /// What the collector says.
    pub fn status(&self) -> Result<Value, String> {
        crate::get_json(self.address(Service::Collector), "/v1/status")
    }

    /// Ends all four in the order of the way, each with exit code 0.
    #[track_caller]
    pub fn stop(mut self) {
        for (at, running) in self.running.drain(..).enumerate().rev() {
            running.interrupt();
            let ended = running.end();
            assert!(ended.succeeded(), "the {} failed: {}", Service::ALL[at], ended.stderr);
        }
    }
}

fn place(service: Service) -> u16 {
    match service {
        Service::Collector => 0,
        Service::Ai => 1,
        Service::Broadcaster => 2,
        Service::Gateway => 3,
    }
}

/// A run that ended in order and that nobody judges.
pub fn run_file() -> Value {
    json!({
        "schema": "hopwatch.run/1",
        "started": "2026-01-01T00:00:00Z",
        "command": [],
        "duration_ns": 1,
        "interrupted": null,
        "end": "in_order",
        "judged": false,
        "budget": {
            "total_ns": 1, "communication_ns": 1, "p99_total_ns": 1, "min_delivered": null
        },
        "environment": {},
    })
}
