//! What `hopwatch` itself is configured by: the table `[hopwatch]`, below flags.

use crate::args::{BudgetArgs, MOST_BYTES, Pipeline, Usage};
use hopwatch_analysis::Budget;
use hopwatch_kit::config;
use hopwatch_model::lane::{self, LaneQos, LaneSpec};
use hopwatch_wire::robot_message::ROBOT_MESSAGE;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The table.
const SECTION: &str = "hopwatch";

/// Keys of programs that describe their lane: who gave one of them gets no lanes by default.
const OF_A_LANE: [(&str, &[&str]); 2] = [
    ("gateway", &["qos", "depth", "lane", "lanes", "link", "serial"]),
    ("robot_sim", &["qos", "depth", "lanes"]),
];

/// What the table may hold.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// As `--lane`, one each.
    lanes: Vec<WrittenLane>,
    budget_total_ms: Option<f64>,
    budget_communication_ms: Option<f64>,
    budget_p99_ms: Option<f64>,
    budget_delivered: Option<f64>,
}

/// A lane as it stands in a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct WrittenLane(LaneSpec);

impl TryFrom<String> for WrittenLane {
    type Error = lane::BadLane;

    fn try_from(text: String) -> Result<Self, lane::BadLane> {
        text.parse().map(Self)
    }
}

impl From<WrittenLane> for String {
    fn from(lane: WrittenLane) -> Self {
        lane.0.to_string()
    }
}

impl Settings {
    /// From the file and the environment.
    ///
    /// A certificate is refused: `hopwatch` starts all programs on this machine, and they meet on
    /// loopback, by URLs of its own.
    pub(crate) fn load(file: Option<&Path>) -> Result<Self, Usage> {
        let given = |section: &&&str| {
            config::gives(section, &["tls_cert", "tls_key"], file, config::environment())
        };
        if let Some(section) = config::SECTIONS.iter().find(given) {
            return Err(Usage(format!(
                "{section}.tls_cert: `hopwatch` starts every program on this machine, where they \
                 meet without TLS; on several hosts start each program by itself (docs/hosts.md)"
            )));
        }
        Self::read(file)
    }

    /// The lanes of file and environment, whoever starts the programs.
    pub(crate) fn written_lanes(file: Option<&Path>) -> Result<Vec<LaneSpec>, Usage> {
        Ok(Self::read(file)?.lanes.into_iter().map(|lane| lane.0).collect())
    }

    fn read(file: Option<&Path>) -> Result<Self, Usage> {
        // Flags are looked at where they are used.
        let none = BTreeMap::<String, String>::new();
        config::load(SECTION, file, config::environment(), &none)
            .map_err(|error| Usage(error.to_string()))
    }

    /// What a run is judged by: flags, else the table, else the defaults.
    pub(crate) fn budget(&self, flags: &BudgetArgs) -> Result<Budget, Usage> {
        let default = Budget::default();
        let pick = |key: &str, flag: Option<f64>, own: Option<f64>, default: i64| {
            let (name, ms) = match (flag, own) {
                (Some(ms), _) => (format!("--{}", key.replace('_', "-")), ms),
                (None, Some(ms)) => (format!("{SECTION}.{key}"), ms),
                (None, None) => return Ok(default),
            };
            ns(&name, ms)
        };
        let (delivered, share) = match (flags.budget_delivered, self.budget_delivered) {
            (Some(share), _) => ("--budget-delivered", Some(share)),
            (None, own) => ("hopwatch.budget_delivered", own),
        };
        if let Some(share) = share.filter(|share| !(0.0..=1.0).contains(share)) {
            return Err(Usage(format!("{delivered} must lie between 0 and 1, not {share}")));
        }
        Ok(Budget {
            total_ns: pick(
                "budget_total_ms",
                flags.budget_total_ms,
                self.budget_total_ms,
                default.total_ns,
            )?,
            communication_ns: pick(
                "budget_communication_ms",
                flags.budget_communication_ms,
                self.budget_communication_ms,
                default.communication_ns,
            )?,
            p99_total_ns: pick(
                "budget_p99_ms",
                flags.budget_p99_ms,
                self.budget_p99_ms,
                default.p99_total_ns,
            )?,
            min_delivered: share,
        })
    }

    /// The lanes; none when the programs' own keys describe the only one.
    ///
    /// `compares`: without a word on lanes from anywhere, both settings of QoS are compared.
    pub(crate) fn lanes(
        &self,
        pipeline: &Pipeline,
        simulate: bool,
        compares: bool,
    ) -> Result<Vec<LaneSpec>, Usage> {
        let single =
            pipeline.qos.is_some() || pipeline.link.is_some() || pipeline.payload_bytes.is_some();
        let lanes = if !pipeline.lanes.is_empty() {
            pipeline.lanes.clone()
        } else if single {
            Vec::new()
        } else if !self.lanes.is_empty() {
            self.lanes.iter().map(|lane| lane.0.clone()).collect()
        } else if compares && simulate && !pipeline.serial && !gives_a_lane(pipeline) {
            [LaneQos::BestEffort, LaneQos::Reliable]
                .map(|qos| LaneSpec { qos, ..LaneSpec::default() })
                .to_vec()
        } else {
            Vec::new()
        };
        check(&lanes, pipeline, simulate).map_err(Usage)?;
        Ok(lanes)
    }
}

/// Whether file or environment describe the only lane by keys of the programs.
fn gives_a_lane(pipeline: &Pipeline) -> bool {
    let file = pipeline.config.as_deref();
    OF_A_LANE
        .iter()
        .any(|(section, keys)| config::gives(section, keys, file, config::environment()))
}

/// Whether file or environment say how often links are probed.
pub(crate) fn gives_probes(pipeline: &Pipeline) -> bool {
    gives_gateway(pipeline, "probes_hz")
}

/// Refuses simulated robots on topics of one's own, which are of another type.
pub(crate) fn robots_fit(pipeline: &Pipeline) -> Result<(), Usage> {
    let Some(file) = &pipeline.config else { return Ok(()) };
    // What can't be read is told of where it is.
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let table: toml::Table = toml::from_str(&text).unwrap_or_default();
    let topics = table.get("gateway").and_then(|gateway| gateway.get("topics"));
    let topics = topics.and_then(toml::Value::as_table).into_iter().flatten();
    for (topic, form) in topics {
        let of = form.get("type").and_then(toml::Value::as_str).unwrap_or_default();
        if of != ROBOT_MESSAGE {
            let of = if of.is_empty() { "one that isn't told".to_owned() } else { of.to_owned() };
            return Err(Usage(format!(
                "{topic} has a type of its own ({of}, in {}), and simulated robots publish \
                 {ROBOT_MESSAGE}: add --no-sim",
                file.display()
            )));
        }
    }
    Ok(())
}

/// Whether file or environment give this key of the gateway.
pub(crate) fn gives_gateway(pipeline: &Pipeline, key: &str) -> bool {
    let file = pipeline.config.as_deref();
    config::gives("gateway", &[key], file, config::environment())
}

/// Refuses lanes that can't be before anything is started. Which links there are the gateway knows.
fn check(lanes: &[LaneSpec], pipeline: &Pipeline, simulate: bool) -> Result<(), String> {
    if lanes.is_empty() {
        return Ok(());
    }
    if let Some((lane, bytes)) = lanes
        .iter()
        .filter_map(|lane| Some((lane, lane.payload_bytes?)))
        .find(|(_, bytes)| *bytes > MOST_BYTES)
    {
        return Err(format!("lane \"{lane}\": payload must be at most {MOST_BYTES}, not {bytes}"));
    }
    let topic = pipeline.topic.as_deref().unwrap_or("/robot_messages");
    let resolved = lane::resolve(lanes, topic).map_err(|error| error.to_string())?;
    if simulate {
        lane::outlets(&resolved).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn ns(name: &str, ms: f64) -> Result<i64, Usage> {
    Budget::limit_ns(ms)
        .ok_or_else(|| Usage(format!("{name} must be a number of milliseconds above 0, not {ms}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn pipeline(words: &str) -> Pipeline {
        let cli = Cli::try_parse_from(format!("hopwatch up {words}").split_whitespace()).unwrap();
        let Command::Up(up) = cli.command else { panic!("another command") };
        up.pipeline
    }

    fn settings(lanes: &[&str]) -> Settings {
        let lanes = lanes.iter().map(|lane| WrittenLane(lane.parse().unwrap())).collect();
        Settings { lanes, ..Settings::default() }
    }

    #[test]
    fn lanes_are_those_of_flags_then_of_the_file_then_of_the_command() {
        let of = |settings: &Settings, words: &str, simulate, compares| {
            LaneSpec::join(&settings.lanes(&pipeline(words), simulate, compares).unwrap())
        };
        let (none, file) = (settings(&[]), settings(&["reliable,udp"]));
        assert_eq!(of(&file, "--lane http1", true, true), "best-effort,link=http1");
        assert_eq!(of(&file, "", true, false), "reliable,link=udp");
        assert_eq!(of(&file, "--qos reliable", true, true), "");
        assert_eq!(of(&none, "", true, true), "best-effort;reliable");
        assert_eq!(of(&none, "--topic /t --rate 5", true, true), "best-effort;reliable");
        for single in ["--qos reliable", "--link http1", "--payload-bytes 9", "--serial"] {
            assert_eq!(of(&none, single, true, true), "", "{single}");
        }
        // Nobody but our own robots publishes on two topics.
        assert_eq!(of(&none, "", false, true), "");
        assert_eq!(of(&none, "", true, false), "");
    }

    #[test]
    fn who_describes_a_lane_in_the_file_gets_that_one() {
        let of = |text: &str| {
            let file = std::env::temp_dir().join(format!("hopwatch-lane-{}", std::process::id()));
            std::fs::write(&file, text).unwrap();
            let pipeline = pipeline(&format!("--config {}", file.display()));
            let lanes = settings(&[]).lanes(&pipeline, true, true).unwrap();
            std::fs::remove_file(&file).unwrap();
            lanes.len()
        };
        assert_eq!(of("[gateway]\nlane = \"mine\"\n"), 0);
        assert_eq!(of("[robot_sim]\nqos = \"reliable\"\n"), 0);
        assert_eq!(of("[robot_sim]\nrate = 5\n"), 2);
    }

    #[test]
    fn a_certificate_is_for_programs_that_are_started_by_themselves() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hosts.toml");
        std::fs::write(&file, "[collector]\ntls_cert = \"a.pem\"\n").unwrap();
        let why = Settings::load(Some(&file)).unwrap_err().to_string();
        assert!(why.contains("collector.tls_cert") && why.contains("docs/hosts.md"), "{why}");
    }

    #[test]
    fn lanes_that_cannot_be_are_refused() {
        for (words, said) in [
            ("--lane reliable --lane reliable", "give one a name="),
            ("--lane topic=/a --lane reliable,topic=/a", "in one way"),
            ("--lane payload=4000001", "at most 4000000"),
        ] {
            let error = settings(&[]).lanes(&pipeline(words), true, true).unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
        }
        // Two readers of one topic of somebody else's may ask for different things.
        let words = "--lane topic=/a --lane reliable,topic=/a";
        assert!(settings(&[]).lanes(&pipeline(words), false, true).is_ok());
    }

    #[test]
    fn budgets_are_those_of_flags_then_of_the_table_and_name_where_they_come_from() {
        let own = Settings {
            budget_total_ms: Some(5.0),
            budget_p99_ms: Some(7.0),
            budget_delivered: Some(0.5),
            ..Settings::default()
        };
        let flags = BudgetArgs { budget_p99_ms: Some(9.0), ..BudgetArgs::default() };
        let budget = own.budget(&flags).unwrap();
        assert_eq!((budget.total_ns, budget.p99_total_ns), (5_000_000, 9_000_000));
        assert_eq!(budget.communication_ns, Budget::default().communication_ns);
        assert_eq!(budget.min_delivered, Some(0.5));
        let none = Settings::default();
        assert_eq!(none.budget(&BudgetArgs::default()).unwrap(), Budget::default());
        for ms in [f64::NAN, 0.0, -1.0, 1e9] {
            let flags = BudgetArgs { budget_p99_ms: Some(ms), ..BudgetArgs::default() };
            let error = none.budget(&flags).unwrap_err().to_string();
            assert!(error.starts_with("--budget-p99-ms must"), "{error}");
        }
        let own = Settings { budget_delivered: Some(2.0), ..Settings::default() };
        let error = own.budget(&BudgetArgs::default()).unwrap_err().to_string();
        assert!(error.starts_with("hopwatch.budget_delivered must"), "{error}");
    }
}
