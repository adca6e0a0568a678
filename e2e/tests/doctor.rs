//! `hopwatch doctor` finds what is really wrong, says what to do, and touches nothing else.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "ai/server.rs"]
#[allow(dead_code, reason = "the tests of AI services use all of it")]
mod server;

use hopwatch_e2e::{Ended, Running, World, peer, python, skip, wait_until};
use serde_json::Value;
use server::{Manner, Server};
use std::collections::BTreeSet;
use std::fs::Permissions;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What it found.
struct Found(Value);

impl Found {
    #[track_caller]
    fn of(ended: &Ended) -> Self {
        let told: Value = serde_json::from_str(&ended.stdout)
            .unwrap_or_else(|error| panic!("{error}: {} {}", ended.stdout, ended.stderr));
        assert_eq!(told["schema"], "hopwatch.doctor/1");
        let found = Self(told);
        let problems = found.all().iter().filter(|of| of["severity"] == "problem").count();
        assert_eq!(found.0["problems"].as_u64(), u64::try_from(problems).ok());
        ended.has_code(i32::from(problems > 0));
        found
    }

    fn all(&self) -> &Vec<Value> {
        self.0["findings"].as_array().unwrap()
    }

    /// The only finding of this name.
    #[track_caller]
    fn one(&self, name: &str) -> &Value {
        let of: Vec<&Value> = self.all().iter().filter(|of| of["name"] == name).collect();
        let [finding] = of.as_slice() else { panic!("not one {name}: {:#?}", self.all()) };
        finding
    }

    /// The only finding of this name, which has this severity and says these words.
    #[track_caller]
    fn says(&self, name: &str, severity: &str, words: &[&str]) -> &Value {
        let finding = self.one(name);
        assert_eq!(finding["severity"], severity, "{finding:#?}");
        let text = ["what", "why", "todo"].map(|part| finding[part].as_str().unwrap()).join(" ");
        for word in words {
            assert!(text.contains(word), "no {word:?} in {text}");
        }
        finding
    }

    fn has(&self, name: &str) -> bool {
        self.all().iter().any(|finding| finding["name"] == name)
    }
}

/// `hopwatch doctor --json` with these words.
#[track_caller]
fn doctor(world: &World, words: &str) -> Found {
    Found::of(&world.bare(&format!("doctor --json {words}")).end())
}

fn robot(world: &World, words: &str) -> Running {
    let words = format!("--no-wait --rate 20 --count 100000 {words}");
    world.peer("publisher.py", &words).start()
}

#[track_caller]
fn end(world: &World, peers: Vec<Running>) {
    for peer in peers {
        peer.interrupt();
        peer.end().has_code(130);
    }
    world.is_empty_now();
}

#[test]
fn qos_that_does_not_fit_is_told_with_the_fix_for_both_sides() {
    let world = World::new();
    let robot = robot(&world, "--qos best-effort");
    wait_for_topic(&world, "/robot_messages");
    let found = doctor(&world, "--topic /robot_messages --qos reliable --wait 10s");
    let words = [
        "publisher /peer_publisher offers BEST_EFFORT",
        "asks for RELIABLE",
        "--qos best-effort",
        "ReliabilityPolicy.RELIABLE",
    ];
    found.says("incompatible_qos", "problem", &words);
    assert!(!found.has("messages_arrive"));
    // As the publisher offers, it arrives.
    let found = doctor(&world, "--topic robot_messages --wait 10s");
    found.says("messages_arrive", "ok", &["hopwatch_msgs/msg/RobotMessage", "BEST_EFFORT"]);
    found.says("ros_found", "ok", &["ROS 2"]);
    assert!(!found.has("incompatible_qos"));
    end(&world, vec![robot]);
}

#[test]
fn what_is_wrong_with_a_topic_is_told() {
    let world = World::new();
    let robot = robot(&world, "--topic /both");
    let stranger = world.peer("stranger.py", "--topic /both").start();
    wait_for_topic(&world, "std_msgs/msg/String");
    wait_for_topic(&world, "hopwatch_msgs/msg/RobotMessage");
    let found = doctor(&world, "--topic /both --wait 10s");
    let words = ["/both: carries 2 types", "std_msgs/msg/String by publisher /peer_stranger", "-r"];
    found.says("two_types", "problem", &words);
    let found = doctor(&world, "--topic /elsewhere/both --wait 6s");
    found.says("no_publisher", "problem", &["this may be meant: /both", "--topic"]);
    let found = doctor(&world, "--topic /both --type std_msgs/msg/Strin --wait 10s");
    found.says("no_type_support", "problem", &["Strin", "ros2 interface show"]);
    let found = doctor(&world, "--topic /both --type no_such_msgs/msg/Type --wait 10s");
    let words = ["libno_such_msgs__rosidl", "ros-<distro>-no-such-msgs", "AMENT_PREFIX_PATH"];
    found.says("no_type_support", "problem", &words);
    let found = doctor(&world, "--topic /not-a-topic --wait 2s");
    found.says("topic", "problem", &["/not-a-topic"]);
    end(&world, vec![robot, stranger]);
}

/// Waits until the doctor lists a topic or type.
#[track_caller]
fn wait_for_topic(world: &World, word: &str) {
    wait_until(word, || {
        // On a busy machine participants meet by the announcements that come every 3 s.
        let found = doctor(world, "--wait 4s");
        let told = found.says("topics", "note", &[])["what"].to_string();
        if told.contains(word) { Ok(()) } else { Err(told) }
    });
}

/// A robot's container with the host's network and memory runs as root, the gateway as somebody else:
/// matched, and nothing comes.
#[test]
fn shared_memory_of_another_user_is_told_with_what_to_do() {
    let world = World::new();
    let nobody = "--reuid 65534 --regid 65534 --clear-groups";
    // The checkout may lie where nobody else gets to, as below /root.
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    for name in ["hopwatch", "hopwatch-gateway"] {
        let copy = folder.path().join(name);
        std::fs::copy(world.built(name), &copy).unwrap();
        std::fs::set_permissions(&copy, Permissions::from_mode(0o755)).unwrap();
    }
    let as_nobody = |words: &str| {
        let mut start = world.program(Path::new("setpriv"), nobody);
        start.arg(folder.path().join("hopwatch").to_str().unwrap()).args(words).env("HOME", "/");
        start
    };
    let tried = world.program(Path::new("setpriv"), &format!("{nobody} true")).end();
    if !tried.succeeded() {
        skip(&format!("nobody can't be taken on here: {}", tried.stderr));
        return;
    }
    let prefixes = std::env::var("AMENT_PREFIX_PATH").unwrap_or_default();
    for prefix in prefixes.split(':').filter(|prefix| Path::new(prefix).is_dir()) {
        let reaches = format!("{nobody} test -r {prefix}");
        if !world.program(Path::new("setpriv"), &reaches).end().succeeded() {
            // The ROS lies there, too: no namespace would help.
            eprintln!("skipped: user 65534 can't reach {prefix} of AMENT_PREFIX_PATH");
            return;
        }
    }
    let robot = robot(&world, "--qos reliable");
    wait_for_topic(&world, "/robot_messages");
    let found = Found::of(&as_nobody("doctor --json --topic /robot_messages --wait 3s").end());
    let words = [
        "matched, and nothing came",
        "belong to user 0 and can't be opened by user 65534",
        "runs as user 0, this one as user 65534",
        "the gateway as user 0, or the robot as user 65534 (of a container: docker run --user",
        "FASTDDS_BUILTIN_TRANSPORTS=UDPv4",
        "--ipc=host",
    ];
    found.says("matched_no_samples", "problem", &words);
    found.says("other_users", "warning", &["user 65534 can't open", "of user 0"]);
    // The robot's own user gets everything.
    doctor(&world, "--topic /robot_messages --wait 10s").says("messages_arrive", "ok", &[]);
    end(&world, vec![robot]);
}

/// A place with a /dev/shm of its own, which others can be started in.
struct Apart<'a> {
    world: &'a World,
    holder: Running,
}

impl<'a> Apart<'a> {
    /// `None`: that can't be had here.
    fn new(world: &'a World) -> Option<Self> {
        let mut start = world.program(Path::new("unshare"), "--mount --propagation private sh -c");
        start.arg("mount -t tmpfs -o mode=1777 tmpfs /dev/shm && echo ready && exec sleep 600");
        let mut holder = start.start();
        let ready = wait_until("a /dev/shm of its own", || {
            let said = holder.stderr();
            match (holder.stdout().contains("ready"), holder.lives()) {
                (true, _) => Ok(true),
                (false, false) => Ok(false),
                (false, true) => Err(said),
            }
        });
        if !ready {
            skip(&format!("no /dev/shm of its own for a process here: {}", holder.stderr()));
            return None;
        }
        Some(Self { world, holder })
    }

    fn start(&self, program: &str, words: &str) -> Running {
        let namespace = format!("--mount=/proc/{}/ns/mnt", self.holder.pid().0);
        let mut start = self.world.program(Path::new("nsenter"), &namespace);
        start.arg("--").arg(program).args(words).start()
    }

    fn folder(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root/dev/shm", self.holder.pid().0))
    }

    /// Segments of participants. Ports that nobody has are taken up again by the next participant,
    /// also by that of a look.
    fn segments(&self) -> BTreeSet<String> {
        let is_segment = |file: &String| file.starts_with("fastrtps_") && !file.contains("port");
        self.files().into_iter().filter(is_segment).collect()
    }

    fn files(&self) -> BTreeSet<String> {
        let entries = std::fs::read_dir(self.folder()).unwrap().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }

    fn doctor(&self, words: &str) -> Found {
        let hopwatch = self.world.built("hopwatch");
        let words = format!("doctor --json --wait 200ms {words}");
        Found::of(&self.start(hopwatch.to_str().unwrap(), &words).end())
    }

    fn robot(&self) -> Running {
        let before = self.files();
        let words =
            format!("{} --no-wait --rate 20 --count 100000", peer("publisher.py").display());
        let mut robot = self.start(&python(), &words);
        robot.wait_for("segment", |robot| {
            let new = self.files().difference(&before).any(|file| file.ends_with("_el"));
            let publishes = robot.stdout().contains("sequence");
            if new && publishes { Ok(()) } else { Err(format!("{before:?} {}", robot.stdout())) }
        });
        robot
    }
}

#[test]
fn leftovers_are_removed_when_nobody_lives_and_nothing_else_is() {
    let world = World::new();
    let Some(apart) = Apart::new(&world) else { return };
    // In this order: who has met a participant clears up after its death.
    let killed = apart.robot();
    killed.pid().kill();
    drop(killed.end());
    let alive = apart.robot();
    // Of another user, and of another program.
    let of_nobody = apart.folder().join("fastrtps_port9");
    std::fs::write(&of_nobody, "x").unwrap();
    std::os::unix::fs::chown(&of_nobody, Some(65534), Some(65534)).unwrap();
    std::fs::write(apart.folder().join("precious"), "x").unwrap();
    let before = apart.segments();
    assert_eq!(before.len(), 4, "{before:?}");

    let found = apart.doctor("--clean");
    found.says("leftovers", "warning", &["nobody has any more", "end all ROS nodes"]);
    let alive_id = alive.pid().0.to_string();
    found.says(
        "cleaned",
        "note",
        &["nothing was removed", "a DDS participant is alive", &alive_id],
    );
    assert!(found.0["cleaned"]["removed"].as_array().unwrap().is_empty());
    assert_eq!(apart.segments(), before);

    alive.interrupt();
    alive.end().has_code(130);
    let only_look = apart.doctor("");
    only_look.says("leftovers", "warning", &["hopwatch doctor --clean"]);
    assert!(!only_look.has("cleaned"));
    assert_eq!(apart.segments().len(), 2, "{before:?}");
    let mut expected = apart.files();
    expected.retain(|file| file.contains("fastrtps_") && file != "fastrtps_port9");

    let found = apart.doctor("--clean");
    found.says("cleaned", "note", &["removed", "fastrtps_port9 belongs to user 65534"]);
    let removed = found.0["cleaned"]["removed"].as_array().unwrap();
    let removed: BTreeSet<String> =
        removed.iter().map(|file| file.as_str().unwrap().to_owned()).collect();
    assert_eq!(removed, expected);
    let rest = apart.files();
    assert!(rest.contains("fastrtps_port9") && rest.contains("precious"), "{rest:?}");
    assert!(rest.is_disjoint(&expected), "{rest:?}");
    let Apart { holder, .. } = apart;
    holder.terminate();
    drop(holder.end());
    world.is_empty_now();
}

#[test]
fn a_port_in_use_has_an_owner() {
    let world = World::new();
    // By us, or by whoever has it.
    let taken = TcpListener::bind("127.0.0.1:5000");
    let found = doctor(&world, "--wait 200ms");
    let own = format!("process {} (", std::process::id());
    let words: &[&str] = if taken.is_ok() { &[&own, "--any-ports"] } else { &["taken by"] };
    let of_ai = |finding: &&Value| {
        finding["name"] == "taken"
            && finding["what"].as_str().unwrap().contains("5000 (AI service)")
    };
    let finding = found.all().iter().find(of_ai).unwrap().to_string();
    for word in words {
        assert!(finding.contains(word), "{finding}");
    }
    world.is_empty_now();
}

#[test]
fn an_ai_service_is_measured() {
    let world = World::new();
    let ask = |manner: Manner| {
        let server = Server::start(SocketAddr::from(([127, 0, 0, 1], 0)), move |_| manner);
        let words = format!("doctor --json --wait 200ms --ai-url http://{}/infer", server.address);
        let ended = world.bare(&words).end();
        ended.says(&["sending up to 20 POST requests"]);
        assert!((1..=20).contains(&server.answered()[&manner]), "{:?}", server.answered());
        server.close();
        Found::of(&ended)
    };
    // On a busy machine replies come later than that, or too few of them in time to tell the cause.
    let found = wait_until("bodies that come 40 ms after their heads", || {
        let found = ask(Manner::InTwo);
        let told = found.one("nagle").to_string();
        if told.contains("head and body came") { Ok(found) } else { Err(told) }
    });
    let severity = found.one("nagle")["severity"].as_str().unwrap();
    assert!(["problem", "warning"].contains(&severity), "{:#?}", found.one("nagle"));
    found.says("nagle", severity, &["38 to 50 ms apart", "delayed ACK", "TCP_NODELAY"]);
    found.says("keep_alive", "ok", &["over one connection"]);
    // What a model takes is nobody's fault, though it looks like it.
    let found = ask(Manner::Streamed);
    assert_ne!(found.one("nagle")["severity"], "problem", "{:#?}", found.one("nagle"));
    let found = ask(Manner::Timed);
    assert_ne!(found.one("nagle")["severity"], "problem", "{:#?}", found.one("nagle"));
    found.says("split", "ok", &["Server-Timing"]);
    found.says("idle", "ok", &["4 s"]);
    let found = ask(Manner::Good);
    found.says("split", "note", &["AI will include transport", "infer;dur="]);
    found.says("replies", "ok", &["JSON"]);
    ask(Manner::Status(500)).says("replies", "problem", &["500", "ai failed"]);
    ask(Manner::Html).says("replies", "problem", &["no JSON (text/html"]);
    let found = doctor(&world, "--wait 200ms --ai-url https://127.0.0.1:1/");
    found.says("reached", "unknown", &["https://127.0.0.1:1/", "asked by TLS", "hopwatch run"]);
    ask(Manner::Half).says("reached", "problem", &["the reply can't be read"]);
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let found = doctor(&world, &format!("--wait 200ms --ai-url http://{nobody}/"));
    found.says("reached", "problem", &["failed to connect", &nobody.to_string()]);
    world.is_empty_now();
}

#[test]
fn the_text_fits_and_the_configuration_says_where_to_look() {
    let world = World::new();
    let file = world.file(
        "hopwatch.toml",
        "[gateway]\ntopic = \"/from/the/file\"\nai_url = \"http://127.0.0.1:1/x\"\n",
    );
    let words = format!("doctor --wait 200ms --config {}", file.display());
    let ended = world.bare(&words).end();
    ended.has_code(1);
    let text = &ended.stdout;
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    for part in ["\n  problem  /from/the/file: nobody publishes", "\n           do   ", "1 problem"]
    {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    // It is named and not asked: nobody said that requests may be sent.
    assert!(text.contains("doctor --ai-url http://127.0.0.1:1/x"), "{text}");
    for (words, said) in [
        ("doctor --wait 2h", "100ms and 1min"),
        ("doctor --ai-url ftp://x/y", "it must begin with http:// or https://"),
        ("doctor --ai-url http://127.0.0.1:1/ --ai-body /nowhere", "/nowhere"),
        ("doctor --type a/msg/B", "--topic"),
        ("doctor --config /nowhere.toml", "/nowhere.toml"),
    ] {
        world.bare(words).end().has_code(2).says(&[said]);
    }
    world.is_empty_now();
}

#[test]
fn shells_and_man_get_the_whole_command_line() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        let ended = world.bare(&format!("completions {shell}")).end();
        ended.has_code(0);
        for word in ["doctor", "ai-url", "compare"] {
            assert!(ended.stdout.contains(word), "no {word} for {shell}");
        }
        let script = world.file(shell, &ended.stdout);
        if shell == "bash" {
            world.program(Path::new("bash"), "-n").arg(script.to_str().unwrap()).end().has_code(0);
        }
    }
    world.bare("completions tcl").end().has_code(2).says(&["tcl", "bash"]);
    let ended = world.bare("man").end();
    ended.has_code(0);
    assert!(ended.stdout.contains(".TH hopwatch 1") && ended.stdout.contains("doctor"));
    let ended = world.bare("man doctor").end();
    ended.has_code(0);
    for word in [".TH hopwatch-doctor 1", "Exit codes: 0 no problem"] {
        assert!(ended.stdout.contains(word), "no {word:?} in {}", ended.stdout);
    }
    world.bare("man fly").end().has_code(2).says(&["fly", "hopwatch --help"]);
    world.is_empty_now();
}
