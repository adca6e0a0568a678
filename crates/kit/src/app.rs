//! What a service answers.

use crate::pages::{AllowedOrigins, refused_page};
use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::service::Service;
use std::convert::Infallible;
use std::sync::Arc;
use tower::ServiceExt;

/// Answers some requests without the router: those of which every microsecond is measured.
pub trait Direct: Send + Sync + 'static {
    /// Which of its places this request is for, by its head; `None`: the router answers it.
    fn place(&self, request: &hyper::Request<Incoming>) -> Option<usize>;

    /// Answers a request for one of its places.
    fn reply(
        self: Arc<Self>,
        place: usize,
        request: hyper::Request<Incoming>,
    ) -> BoxFuture<'static, Result<Response, Infallible>>;
}

/// A router, and what is answered before it is asked.
#[derive(Clone)]
pub struct App {
    direct: Option<Arc<dyn Direct>>,
    router: Router,
    listed: AllowedOrigins,
}

impl From<Router> for App {
    fn from(router: Router) -> Self {
        Self { direct: None, router, listed: AllowedOrigins::default() }
    }
}

impl App {
    /// A router, and what is answered before it.
    pub fn with(direct: Arc<dyn Direct>, router: Router) -> Self {
        Self { direct: Some(direct), ..Self::from(router) }
    }

    /// Further routes.
    #[must_use]
    pub fn merge(self, others: Router) -> Self {
        Self { router: self.router.merge(others), ..self }
    }

    /// Lets pages of these origins ask on loopback, too, and change nothing there.
    #[must_use]
    pub fn listing(self, listed: AllowedOrigins) -> Self {
        Self { listed, ..self }
    }

    /// For a connection of a listener; on loopback, pages of elsewhere are kept out.
    pub(crate) fn answers(self, loopback: bool) -> Answers {
        Answers { app: self, loopback }
    }
}

/// An app as hyper wants it.
#[derive(Clone)]
pub(crate) struct Answers {
    app: App,
    loopback: bool,
}

impl Service<hyper::Request<Incoming>> for Answers {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn call(&self, request: hyper::Request<Incoming>) -> Self::Future {
        if self.loopback
            && let Some(refusal) = refused_page(&request, &self.app.listed)
        {
            return std::future::ready(Ok(refusal)).boxed();
        }
        if let Some(direct) = &self.app.direct
            && let Some(place) = direct.place(&request)
        {
            return Arc::clone(direct).reply(place, request);
        }
        let request: Request = request.map(axum::body::Body::new);
        self.app.router.clone().oneshot(request).boxed()
    }
}
