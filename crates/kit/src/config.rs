//! Configuration: defaults < TOML file < environment < flags. Unknown keys are refused, and an
//! error names where the value came from.

use figment::Figment;
use figment::providers::{Format, Serialized, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Metadata, Profile, Provider};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// The tables that a configuration file may have: one a program.
pub const SECTIONS: &[&str] =
    &["gateway", "ai_mock", "broadcaster", "collector", "robot_sim", "web_ui", "hopwatch"];

/// Variables that begin with `HOPWATCH_` and belong to no table: to all programs, to `hopwatch`
/// and its ROS environment, to tests.
const VARIABLES: &[&str] = &[
    "HOPWATCH_TOKEN",
    "HOPWATCH_TOKEN_FILE",
    "HOPWATCH_LOG",
    "HOPWATCH_ROS",
    "HOPWATCH_PYTHON",
    "HOPWATCH_REQUIRE_NAMESPACES",
    "HOPWATCH_FAULT_SEED",
    "HOPWATCH_PROGRAMS",
    "HOPWATCH_UPDATE",
    "HOPWATCH_E2E_WORLD",
    "HOPWATCH_PAGE_URL",
    "HOPWATCH_WEB_UI",
];

/// Declares a service's configuration and its command-line flags at once, from one list of
/// fields with their meaning and default.
///
/// A field marked `@switch` is a boolean that its bare flag turns on (`--serial`,
/// `--serial=false`). Tables within the table stand first, in brackets: what has so many words
/// that only a file can hold them, and so no flag.
#[macro_export]
macro_rules! config {
    (
        $(#[doc = $about:literal])*
        $vis:vis struct $config:ident, $flags:ident {
            $( [ $( $(#[doc = $table_doc:literal])* $table:ident : $table_ty:ty ),* $(,)? ] )?
            $( $(#[doc = $doc:literal])* $(@$switch:ident)? $field:ident : $ty:ty = $default:expr, )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        $vis struct $config {
            $( $(#[doc = $doc])* $vis $field: $ty, )*
            $( $( $(#[doc = $table_doc])* $vis $table: $table_ty, )* )?
        }

        impl Default for $config {
            fn default() -> Self {
                Self {
                    $( $field: $default, )*
                    $( $( $table: <$table_ty>::default(), )* )?
                }
            }
        }

        /// The same, as given on the command line.
        #[derive(Clone, Debug, Default, ::serde::Serialize, ::clap::Args)]
        $vis struct $flags { $(
            $(#[doc = $doc])*
            #[arg(long)]
            $(#[arg(num_args = 0..=1, require_equals = true,
                    default_missing_value = $crate::switch_on!($switch))])?
            #[serde(skip_serializing_if = "Option::is_none")]
            $vis $field: Option<$ty>,
        )* }
    };
}

/// What a bare switch means.
#[doc(hidden)]
#[macro_export]
macro_rules! switch_on {
    (switch) => {
        "true"
    };
}

/// Why a configuration can't be used. Shown as it is: it names the key and the source.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A value or key is wrong.
    #[error("configuration: {}", in_words(.0))]
    Wrong(Box<figment::Error>),
    /// The file has a table or key that no program reads.
    #[error("configuration: unknown table or key `{key}` in {file} (known tables: {known})")]
    UnknownTable {
        /// The key.
        key: String,
        /// The file.
        file: String,
        /// What could have been meant.
        known: String,
    },
    /// The environment has a variable that no program reads.
    #[error(
        "configuration: environment variable {name} belongs to no table (known tables, as \
         HOPWATCH_TABLE_KEY: {known}; besides: {besides})"
    )]
    UnknownVariable {
        /// The variable.
        name: String,
        /// The tables that could have been meant.
        known: String,
        /// The variables that could have been meant.
        besides: String,
    },
    /// The file isn't there.
    #[error("configuration: failed to read {file}: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
}

/// A value that could be read, and that a service can't work with: the key, the limits and the
/// value in a sentence. A service that returns it ends with the exit code for configuration.
#[derive(Debug, thiserror::Error)]
#[error("configuration: {0}")]
pub struct Refused(pub String);

/// figment's own words, with the key as it stands in a file ("gateway.queue") and its source.
fn in_words(error: &figment::Error) -> String {
    let mut path = error.path.clone();
    // figment puts the table that was asked for behind the key.
    if path.last().is_some_and(|last| SECTIONS.contains(&last.as_str())) {
        path.rotate_right(1);
    }
    let key = if path.is_empty() { String::new() } else { format!(" for {}", path.join(".")) };
    let source = error.metadata.as_ref().map(|from| match &from.source {
        Some(figment::Source::File(file)) => format!(" in {}", file.display()),
        _ => format!(" in {}", from.name),
    });
    format!("{}{key}{}", error.kind, source.unwrap_or_default())
}

impl From<figment::Error> for ConfigError {
    fn from(error: figment::Error) -> Self {
        Self::Wrong(Box::new(error))
    }
}

/// Puts a configuration together for the table `section`.
///
/// `environment` is the process's environment; tests pass a map.
pub fn load<C, F>(
    section: &str,
    file: Option<&Path>,
    environment: impl IntoIterator<Item = (String, String)>,
    flags: &F,
) -> Result<C, ConfigError>
where
    C: Default + Serialize + DeserializeOwned,
    F: Serialize,
{
    let mut figment = Figment::new().merge(Serialized::default(section, C::default()));
    if let Some(path) = file {
        std::fs::File::open(path).map_err(|source| ConfigError::Unreadable {
            file: path.display().to_string(),
            source,
        })?;
        check_tables(path)?;
        figment = figment.merge(Toml::file_exact(path));
    }
    let prefix = format!("HOPWATCH_{}_", section.to_uppercase());
    for (name, value) in environment {
        let Some(key) = name.strip_prefix(&prefix).map(str::to_lowercase) else {
            check_variable(&name)?;
            continue;
        };
        // Parsed as figment's own Env provider does: numbers and booleans where they look so.
        let value: Value = value.parse().unwrap_or_else(|never| match never {});
        let source = format!("environment variable {name}");
        figment = figment.merge(Layer::new(source, section, Dict::from([(key, value)]).into()));
    }
    let flags = Value::serialize(flags)?;
    figment = figment.merge(Layer::new("command line".to_owned(), section, flags));
    Ok(figment.extract_inner(section)?)
}

/// The process's environment, for [`load`]. Names or values that aren't UTF-8 can't be meant for us.
pub fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Whether the file or the environment gives one of these keys of the table `section`. What can't
/// be read gives none: [`load`] says so.
pub fn gives(
    section: &str,
    keys: &[&str],
    file: Option<&Path>,
    environment: impl IntoIterator<Item = (String, String)>,
) -> bool {
    let names: Vec<String> =
        keys.iter().map(|key| format!("HOPWATCH_{section}_{key}").to_uppercase()).collect();
    let in_file = |path: &Path| {
        let tables: Dict = Figment::from(Toml::file_exact(path)).extract().unwrap_or_default();
        let table = tables.get(section).and_then(Value::as_dict);
        table.is_some_and(|table| keys.iter().any(|key| table.contains_key(*key)))
    };
    file.is_some_and(in_file) || environment.into_iter().any(|(name, _)| names.contains(&name))
}

/// An unknown table is a typing error that must not be passed over in silence.
fn check_tables(path: &Path) -> Result<(), ConfigError> {
    let tables: Dict = Figment::from(Toml::file_exact(path)).extract()?;
    match tables.keys().find(|key| !SECTIONS.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(ConfigError::UnknownTable {
            key: key.clone(),
            file: path.display().to_string(),
            known: SECTIONS.join(", "),
        }),
    }
}

/// The same for a variable.
fn check_variable(name: &str) -> Result<(), ConfigError> {
    let Some(rest) = name.strip_prefix("HOPWATCH_") else { return Ok(()) };
    let of_table = |table: &&str| {
        rest.strip_prefix(&table.to_uppercase()).is_some_and(|key| key.starts_with('_'))
    };
    if SECTIONS.iter().any(of_table) || VARIABLES.contains(&name) {
        return Ok(());
    }
    Err(ConfigError::UnknownVariable {
        name: name.to_owned(),
        known: SECTIONS.join(", ").to_uppercase(),
        besides: "HOPWATCH_TOKEN, HOPWATCH_TOKEN_FILE, HOPWATCH_LOG".to_owned(),
    })
}

/// Values for one table, with the name of the place that they came from.
struct Layer {
    source: String,
    table: Dict,
}

impl Layer {
    fn new(source: String, section: &str, values: Value) -> Self {
        Self { source, table: Dict::from([(section.to_owned(), values)]) }
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.source.clone())
    }
    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Map::from([(Profile::Default, self.table.clone())]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    config! {
        /// A configuration.
        pub(super) struct Config, TestFlags {
            /// How many.
            workers: u32 = 4,
            /// A switch.
            @switch serial: bool = false,
            /// A text.
            name: String = "n".to_owned(),
        }
    }

    fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn later_layers_win() {
        let toml = file("[gateway]\nworkers = 1\nname = \"file\"\n[ai_mock]\nx = 1\n");
        let flags = TestFlags { serial: Some(true), ..TestFlags::default() };
        let env = variables(&[
            ("HOPWATCH_GATEWAY_WORKERS", "2"),
            ("HOPWATCH_AI_MOCK_ANYTHING", "3"),
            ("HOPWATCH_TOKEN", "t"),
            ("OTHER", "4"),
        ]);
        let c: Config = load("gateway", Some(toml.path()), env, &flags).unwrap();
        assert_eq!((c.workers, c.serial, c.name.as_str()), (2, true, "file"));
        let c: Config = load("gateway", None, [], &TestFlags::default()).unwrap();
        assert_eq!((c.workers, c.serial), (4, false));
    }

    #[test]
    fn whether_a_key_is_given_is_known_of_file_and_environment() {
        let toml = file("[gateway]\nworkers = 1\n[ai_mock]\nname = \"n\"\n");
        let env = || variables(&[("HOPWATCH_GATEWAY_SERIAL", "true")]);
        let given = |keys: &[&str]| gives("gateway", keys, Some(toml.path()), env());
        assert!(given(&["workers"]) && given(&["name", "serial"]));
        assert!(!given(&["name"]) && !given(&[]));
        assert!(!gives("gateway", &["serial"], Some(Path::new("/nowhere.toml")), []));
    }

    #[test]
    fn errors_name_the_key_and_the_source() {
        let none = TestFlags::default();
        let error = |toml: &str, env: &[(&str, &str)]| {
            let toml = file(toml);
            load::<Config, _>("gateway", Some(toml.path()), variables(env), &none)
                .unwrap_err()
                .to_string()
        };
        let text = error("[gateway]\nworker = 1\n", &[]);
        assert!(text.contains("gateway.worker in /") && text.contains(".tmp"), "{text}");
        let text = error("[gatewey]\nworkers = 1\n", &[]);
        assert!(text.contains("gatewey") && text.contains("gateway,"), "{text}");
        let text = error("", &[("HOPWATCH_GATEWAY_WORKERS", "many")]);
        assert!(text.contains("HOPWATCH_GATEWAY_WORKERS"), "{text}");
        for unknown in ["HOPWATCH_GATWAY_WORKERS", "HOPWATCH_GATEWAY", "HOPWATCH_WORKERS"] {
            let text = error("", &[(unknown, "1")]);
            assert!(text.contains(unknown) && text.contains("AI_MOCK"), "{text}");
        }
        let text = error("[gateway\n", &[]);
        assert!(text.contains("configuration") && text.contains(".tmp"), "{text}");
        let missing = load::<Config, _>("gateway", Some(Path::new("/nowhere.toml")), [], &none);
        assert!(missing.unwrap_err().to_string().contains("/nowhere.toml"));
    }
}
