//! The answers of the page's server, as a client gets them.

use super::*;
use axum::body::Body;
use axum::http::{Method, StatusCode};
use http_body_util::BodyExt;
use tower::ServiceExt;

async fn ask(method: Method, path: &str, headers: &[(HeaderName, &str)]) -> Response {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    router(&config()).oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
}

fn config() -> Config {
    Config { broadcaster_port: 81, collector_port: 82, ..Config::default() }
}

async fn get_text(path: &str) -> (StatusCode, String) {
    let response = ask(Method::GET, path, &[]).await;
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(bytes.to_vec()).unwrap())
}

fn header(response: &Response, name: HeaderName) -> &str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

/// The status that the page has: tests hold with and without a built page.
fn page_status() -> StatusCode {
    if page::is_embedded() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

#[tokio::test]
async fn tells_the_page_where_to_connect() {
    let (status, body) = get_text("/config.json").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        body,
        r#"{"broadcaster_port":81,"collector_port":82,"controls":{"ai_port":null,"robots_port":null,"network_port":null,"token_needed":false}}"#
    );
    let response = ask(Method::GET, "/config.json", &[]).await;
    assert_eq!(header(&response, header::CONTENT_TYPE), "application/json");
    assert_eq!(header(&response, header::CACHE_CONTROL), "no-store");
}

#[tokio::test]
async fn tells_its_health() {
    let (status, body) = get_text("/healthz").await;
    assert_eq!(status, StatusCode::OK);
    let health: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&health["status"], &health["service"]), (&json!("ok"), &json!("web-ui")));
    let page = if page::is_embedded() { "embedded" } else { "missing" };
    assert_eq!(health["detail"]["page"], page);
}

#[tokio::test]
async fn serves_the_page_or_says_what_to_do() {
    for path in ["/", "/index.html", "/?x=1"] {
        let (status, body) = get_text(path).await;
        assert_eq!(status, page_status(), "{path}");
        let expected = if page::is_embedded() { "<!doctype html>" } else { "npm run build" };
        assert!(body.contains(expected), "{body}");
    }
}

#[tokio::test]
async fn files_are_cached_as_they_may_be() {
    if !page::is_embedded() {
        return;
    }
    let (_, index) = get_text("/").await;
    let script = index.split("src=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let response = ask(Method::GET, script, &[]).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(header(&response, header::CONTENT_TYPE), "text/javascript; charset=utf-8");
    assert!(header(&response, header::CACHE_CONTROL).contains("immutable"));
    let tag = header(&response, header::ETAG).to_owned();
    let again = ask(Method::GET, script, &[(header::IF_NONE_MATCH, &tag)]).await;
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    let page = ask(Method::GET, "/", &[(header::IF_NONE_MATCH, &tag)]).await;
    assert_eq!(page.status(), StatusCode::OK);
    assert_eq!(header(&page, header::CACHE_CONTROL), "no-cache");
}

#[tokio::test]
async fn no_path_leads_elsewhere() {
    for path in [
        "/nothing",
        "//index.html",
        "/../Cargo.toml",
        "/assets/../../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "/..%2fCargo.toml",
        "/assets/",
        "/assets",
        "/index.html/",
        "/%00",
        "/etc/passwd",
        "/server/lib.rs",
    ] {
        assert_eq!(get_text(path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn only_get_and_head() {
    for path in ["/", "/config.json", "/healthz", "/nothing"] {
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS, Method::TRACE] {
            let response = ask(method.clone(), path, &[]).await;
            assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
            assert_eq!(header(&response, header::ALLOW), "GET,HEAD", "{method} {path}");
        }
        let head = ask(Method::HEAD, path, &[]).await;
        let get = ask(Method::GET, path, &[]).await;
        assert_eq!(head.status(), get.status(), "{path}");
        assert!(head.into_body().collect().await.unwrap().to_bytes().is_empty(), "{path}");
    }
}

#[tokio::test]
async fn every_answer_locks_the_page_up() {
    for (method, path) in [
        (Method::GET, "/"),
        (Method::GET, "/nothing"),
        (Method::POST, "/"),
        (Method::GET, "/healthz"),
    ] {
        let response = ask(method, path, &[(header::HOST, "lab-1:3000")]).await;
        for (name, value) in policy::FIXED {
            assert_eq!(header(&response, name.clone()), value, "{path} {name}");
        }
        assert_eq!(
            header(&response, header::CONTENT_SECURITY_POLICY),
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
             connect-src 'self' ws://lab-1:81 ws://lab-1:82 http://lab-1:82; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'"
        );
    }
}

#[tokio::test]
async fn the_page_may_set_what_it_is_told_of_and_reach_nothing_else() {
    let config =
        Config { ai_port: Some(5000), robots_port: Some(41_000), token_needed: true, ..config() };
    let ask = async |path: &str| {
        let request = Request::get(path).header(header::HOST, "localhost:3000");
        router(&config).oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    };
    let policy = ask("/").await;
    let policy = header(&policy, header::CONTENT_SECURITY_POLICY);
    let connect = policy.split("; ").find(|part| part.starts_with("connect-src")).unwrap();
    assert_eq!(
        connect,
        "connect-src 'self' ws://localhost:81 ws://localhost:82 http://localhost:82 \
         http://localhost:5000 http://localhost:41000"
    );
    let body = ask("/config.json").await.into_body().collect().await.unwrap().to_bytes();
    let told: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let expected =
        json!({"ai_port": 5000, "robots_port": 41000, "network_port": null, "token_needed": true});
    assert_eq!(told["controls"], expected);
}
