//! Which web pages may use a service.
//!
//! Browsers let any page send to any address, and open a WebSocket to it; they tell the page's
//! `Origin`, and keep what comes back from it unless the service allows the origin (Fetch, CORS).

use axum::Router;
use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use std::time::Duration;
use tower_http::cors::{AllowOrigin, CorsLayer};

/// How long a browser need not ask again what it may send.
const PREFLIGHT_HOLDS: Duration = Duration::from_secs(600);

/// Origins of pages elsewhere that may connect, as a service's configuration lists them.
#[derive(Clone, Debug, Default)]
pub struct AllowedOrigins(Vec<String>);

impl AllowedOrigins {
    /// From a list separated by commas.
    pub fn parse(list: &str) -> Self {
        let origins = list.split(',').map(|origin| origin.trim().to_owned());
        Self(origins.filter(|origin| !origin.is_empty()).collect())
    }

    /// The answer to a page whose origin may not connect; `None` when it may.
    ///
    /// Allowed: no origin (no browser), a page of this machine by a name that no attacker can take
    /// (localhost, a loopback address), and the origins listed.
    pub fn refusal(&self, headers: &HeaderMap) -> Option<Response> {
        let text = "pages of this origin may not connect (allowed_origins)\n";
        let foreign = headers.get(header::ORIGIN).is_some_and(|origin| !self.allow(origin));
        foreign.then(|| (StatusCode::FORBIDDEN, text).into_response())
    }

    fn allow(&self, origin: &HeaderValue) -> bool {
        let Ok(origin) = origin.to_str() else { return false };
        let listed = self.0.iter().any(|allowed| allowed == origin);
        let here = || origin.split_once("://").is_some_and(|(_, host)| is_this_machine(host));
        listed || here()
    }
}

/// Lets pages of this machine and of `origins` use these routes: answers what browsers ask before
/// they send (preflight), and allows the page to read the answer. Pages of other origins get 403,
/// whatever they ask. Programs send no `Origin` and notice nothing.
///
/// On loopback [`serve`](crate::net::serve) stands before it: there, pages of elsewhere change
/// nothing even when they are listed, and may ask only when the app itself
/// [lists](crate::app::App::listing) them. The token is another matter: put its
/// [guard](crate::net::Token::guard) inside, as a browser shows no token when it asks beforehand.
pub fn for_pages(router: Router, origins: AllowedOrigins) -> Router {
    let allowed = origins.clone();
    let cors = CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(move |origin, _| allowed.allow(origin)))
        .allow_methods([Method::GET, Method::POST, Method::PUT])
        .allow_headers([header::AUTHORIZATION, header::CONTENT_TYPE])
        .expose_headers([header::CONTENT_DISPOSITION])
        .max_age(PREFLIGHT_HOLDS);
    let refuse = middleware::from_fn(move |request: Request, next: Next| {
        let refusal = origins.refusal(request.headers());
        async move {
            match refusal {
                Some(refusal) => refusal,
                None => next.run(request).await,
            }
        }
    });
    router.layer(cors).layer(refuse)
}

/// Whether `host[:port]` is this machine by a name that no attacker can take.
fn is_this_machine(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(v6) => v6.split_once(']').map_or("", |(host, _)| host),
        None => authority.split_once(':').map_or(authority, |(host, _)| host),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Where a browser tells whether a page of another site asks (Fetch Metadata).
const SITE: &str = "sec-fetch-site";
/// And what for.
const DESTINATION: &str = "sec-fetch-dest";

/// The answer to a request that only a page of elsewhere would send to a service that listens on
/// loopback. What tells it:
/// - its `Host`: a page whose own name resolves to 127.0.0.1 could read what is here;
/// - its `Origin`, unless the service lists it in `listed`. A listed page may ask and open a
///   WebSocket, and change nothing: a `POST` can be sent anywhere without asking first;
/// - `Sec-Fetch-Site: cross-site` without an `Origin`: an image or a frame of a page elsewhere, which
///   reads nothing and could still have a service work without end. Browsers send it, since 2023
///   all of them. A link that is followed in the window itself (`document`) may lead here: it takes
///   the user along.
pub(crate) fn refused_page<B>(
    request: &axum::http::Request<B>,
    listed: &AllowedOrigins,
) -> Option<Response> {
    let headers = request.headers();
    // HTTP/2 has the host in the URI.
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| request.uri().authority().map(Authority::as_str));
    let changes = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let foreign_origin = if changes.contains(request.method()) {
        AllowedOrigins::default().refusal(headers).is_some()
    } else {
        listed.refusal(headers).is_some()
    };
    let foreign_site = !headers.contains_key(header::ORIGIN)
        && headers.get(SITE).is_some_and(|site| site == "cross-site")
        && !(request.method() == Method::GET
            && headers.get(DESTINATION).is_some_and(|what| what == "document"));
    if foreign_origin || foreign_site || !host.is_none_or(is_this_machine) {
        let text = "this service is for programs and pages of this machine\n";
        return Some((StatusCode::FORBIDDEN, text).into_response());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_this_machine_and_listed_ones_may() {
        let listed = AllowedOrigins::parse(" https://robots.example, ,");
        let may = |origin: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ORIGIN, origin.parse().unwrap());
            listed.refusal(&headers).is_none()
        };
        for good in [
            "http://localhost:3000",
            "http://127.0.0.1",
            "http://[::1]:3000",
            "https://robots.example",
        ] {
            assert!(may(good), "{good}");
        }
        for bad in [
            "http://evil.example",
            "http://localhost.evil.example",
            "http://127.0.0.1.evil.example:3000",
            "null",
            "http://10.0.0.1",
            "https://robots.example.evil",
        ] {
            assert!(!may(bad), "{bad}");
        }
        assert!(AllowedOrigins::default().refusal(&HeaderMap::new()).is_none());
    }
}
