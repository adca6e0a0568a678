use super::*;

fn variable(name: &str) -> Option<String> {
    (name == "KEY").then(|| "s3cret".to_owned())
}

fn headers(of: &[(&str, &str)]) -> BTreeMap<String, String> {
    of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn http(of: &[(&str, &str)]) -> Result<HttpForm, String> {
    let form = AiForm { headers: headers(of), ..AiForm::default() };
    form.http(&variable).map_err(|why| why.0)
}

#[test]
fn headers_take_secrets_from_the_environment_and_do_not_tell_them() {
    let form = http(&[("Authorization", "Bearer ${KEY}"), ("x-model", "a b")]).unwrap();
    assert_eq!(form.headers["authorization"], "Bearer s3cret");
    assert_eq!(form.headers["x-model"], "a b");
    assert!(!format!("{form:?}").contains("s3cret"));
}

#[test]
fn headers_that_cannot_be_sent_are_refused_by_name() {
    for (header, part) in [
        (("x key", "v"), "ai.headers.x key: that is no name"),
        (("Host", "elsewhere"), "ai.headers.Host: this header is"),
        (("traceparent", "00"), "Hopwatch's"),
        (("x", "${NONE}"), "no variable NONE"),
        (("x", "${KEY"), "without }"),
        (("x", "a\nb"), "ai.headers.x: its value"),
    ] {
        let why = http(&[header]).unwrap_err();
        assert!(why.contains(part) && !why.contains("s3cret"), "{why}");
    }
}

#[test]
fn methods_are_the_usual_ones() {
    let of =
        |method: &str| AiForm { method: method.to_owned(), ..AiForm::default() }.http(&variable);
    assert_eq!(of("").unwrap().method, Method::POST);
    assert_eq!(of("put").unwrap().method, Method::PUT);
    assert!(of("FETCH").unwrap_err().0.contains("ai.method"));
}

#[test]
fn cdr_is_told_by_its_media_type_and_goes_over_any_link() {
    let cdr = AiForm { body: AiBody::Cdr, ..AiForm::default() };
    assert_eq!(cdr.content_type(), "application/octet-stream");
    assert_eq!(cdr.http(&variable).unwrap(), HttpForm::default());
    assert_eq!(cdr.web_body(WebBody::Auto), WebBody::Brief);
    assert_eq!(AiForm::default().web_body(WebBody::Auto), WebBody::Auto);
    assert_eq!(cdr.web_body(WebBody::Whole), WebBody::Whole);
}

#[test]
fn bytes_are_base64_where_a_template_takes_them() {
    let of = |body, bytes| AiForm { body, bytes, ..AiForm::default() };
    let web = WebForm::default();
    assert!(!of(AiBody::Json, BytesAs::Auto).base64(&web));
    assert!(of(AiBody::Template, BytesAs::Auto).base64(&web));
    assert!(!of(AiBody::Template, BytesAs::Numbers).base64(&web));
    assert!(of(AiBody::Json, BytesAs::Base64).base64(&web));
    let template = WebForm { body: WebBody::Template, ..WebForm::default() };
    assert!(of(AiBody::Json, BytesAs::Auto).base64(&template));
}

#[test]
fn what_contradicts_itself_is_refused() {
    let refused = |form: AiForm| form.check().unwrap_err().0;
    let text = "{}".to_owned();
    assert!(refused(AiForm { body: AiBody::Template, ..AiForm::default() }).contains("template"));
    assert!(refused(AiForm { template: text, ..AiForm::default() }).contains("template"));
    let field = AiForm { server_time: ServerTime::Field, ..AiForm::default() };
    assert!(refused(field.clone()).contains("server_time_field"));
    let whole = AiForm { server_time_field: "t".to_owned(), ..field };
    assert!(whole.check().is_ok());
    assert!(refused(AiForm { answer: Answer::Any, ..whole }).contains("answer"));
    let none = AiForm { method: "get".into(), body: AiBody::Cdr, ..AiForm::default() };
    assert!(refused(none).contains("carries no body"));
    let bytes = AiForm { body: AiBody::Cdr, bytes: BytesAs::Base64, ..AiForm::default() };
    assert!(refused(bytes).contains("bytes"));
    let both = TopicForm { robot: "r".into(), robot_field: "f".into(), ..TopicForm::default() };
    assert!(both.check("/t").unwrap_err().0.contains("robot_field"));
    assert!(TopicForm::default().check("t").unwrap_err().0.contains("begins with /"));
    assert!(WebForm { body: WebBody::Template, ..WebForm::default() }.check().is_err());
}
