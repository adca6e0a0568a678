//! Bodies of one's own: a template that makes JSON of a message.

use hopwatch_kit::config::Refused;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

/// A template (the language is Jinja's) whose every `{{ … }}` writes JSON: texts come with their
/// quotes. A field that isn't there is an error, not an empty text.
#[derive(Debug)]
pub(crate) struct Template(Environment<'static>);

/// The template's name in errors.
const NAME: &str = "template";

/// What a template may ask for; `ai` that of the web service alone.
const NAMES: [&str; 5] = ["message", "robot", "sequence", "lane", "ai"];

impl Template {
    /// Reads the template of the table `[gateway.TABLE]`.
    pub(crate) fn new(table: &str, text: &str) -> Result<Self, Refused> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::Json);
        environment.add_template_owned(NAME, text.to_owned()).map_err(|error| {
            Refused(format!("{table}.template can't be read: {}", in_words(&error)))
        })?;
        let unknown = environment.get_template(NAME).ok().and_then(|template| {
            template.undeclared_variables(false).into_iter().find(|name| !NAMES.contains(&&**name))
        });
        match unknown {
            None => Ok(Self(environment)),
            Some(name) => Err(Refused(format!(
                "{table}.template: there is no {name:?}; there are {}",
                NAMES.join(", ")
            ))),
        }
    }

    /// The body of a message. Fails when a field isn't there, or what comes out isn't JSON.
    pub(crate) fn fill(&self, context: impl Serialize) -> Result<Vec<u8>, String> {
        let template = self.0.get_template(NAME).map_err(|error| in_words(&error))?;
        let body = template.render(Serde(context)).map_err(|error| in_words(&error))?;
        match serde_json::from_str::<serde::de::IgnoredAny>(&body) {
            Ok(_) => Ok(body.into_bytes()),
            Err(error) => Err(format!("the template makes no JSON of it: {error}")),
        }
    }
}

fn in_words(error: &minijinja::Error) -> String {
    let line = error.line().map(|line| format!(" (line {line} of the template)"));
    format!("{error:#}{}", line.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filled(text: &str) -> Result<String, String> {
        let message = json!({
            "text": "a \"b\"\n", "width": 640, "nested": {"x": [1.5, null]}, "big": 9_007_199_254_740_993_u64,
        });
        let body = Template::new("ai", text).unwrap().fill(json!({ "message": message }))?;
        Ok(String::from_utf8(body).unwrap())
    }

    #[test]
    fn whatever_is_put_in_is_json() {
        let body = filled(
            r#"{"prompt": {{ message.text }}, "w": {{ message.width }}, "x": {{ message.nested.x }},
                "big": {{ message.big }}, "half": {{ message.width / 2 }}}"#,
        );
        let body: serde_json::Value = serde_json::from_str(&body.unwrap()).unwrap();
        let expected = json!({
            "prompt": "a \"b\"\n", "w": 640, "x": [1.5, null], "big": 9_007_199_254_740_993_u64,
            "half": 320.0,
        });
        assert_eq!(body, expected);
    }

    #[test]
    fn a_field_that_is_not_there_is_an_error() {
        for text in ["{{ message.txt }}", "{{ ai.label }}", "{{ message.nested.y.z }}"] {
            assert!(filled(text).unwrap_err().contains("undefined"), "{text}");
        }
        let why = Template::new("ai", "{{ massage.text }}").unwrap_err().0;
        assert!(why.contains("massage") && why.contains("message, robot"), "{why}");
    }

    #[test]
    fn what_is_no_json_is_an_error() {
        assert!(filled("{\"a\": {{ message.width }}").unwrap_err().contains("no JSON"));
        assert!(filled("").unwrap_err().contains("no JSON"));
    }

    #[test]
    fn a_template_that_cannot_be_read_is_refused_with_its_line() {
        let why = Template::new("ai", "{\n{{ message.text\n}").unwrap_err().0;
        assert!(why.contains("ai.template") && why.contains("line"), "{why}");
    }
}
