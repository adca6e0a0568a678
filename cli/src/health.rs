//! `hopwatch health`: whether a service is well. Images without a shell have nothing else to ask
//! with.

use crate::args::{Health, Usage};
use anyhow::{Context, bail};
use hopwatch_kit::net::Token;
use hopwatch_kit::service::exit;
use reqwest::header::AUTHORIZATION;
use std::time::Duration;

/// A service that takes longer to say that it is well isn't.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks once; anything but a success (2xx) is an error.
pub(crate) async fn health(args: &Health) -> anyhow::Result<u8> {
    let token = Token::from_environment().map_err(|refused| Usage(refused.to_string()))?;
    // Proxies of the environment are for others: it is asked where it runs.
    let client = reqwest::Client::builder().timeout(PATIENCE).no_proxy().build()?;
    let mut request = client.get(&args.url);
    if let Some(authorization) = token.authorization() {
        request = request.header(AUTHORIZATION, authorization);
    }
    let answer = request.send().await.with_context(|| format!("failed to ask {}", args.url))?;
    let status = answer.status();
    if !status.is_success() {
        bail!("{} answered {status}", args.url);
    }
    Ok(exit::OK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// Answers one request with this status line.
    fn answering(status: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/healthz", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            let _request = connection.read(&mut [0; 4096]).unwrap();
            write!(connection, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").unwrap();
        });
        url
    }

    #[tokio::test]
    async fn only_a_success_is_well() {
        let ask = async |url: String| health(&Health { url }).await;
        assert_eq!(ask(answering("200 OK")).await.unwrap(), exit::OK);
        let why = ask(answering("503 Service Unavailable")).await.unwrap_err().to_string();
        assert!(why.contains("503") && why.contains("/healthz"), "{why}");
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let why = ask(format!("http://{gone}/")).await.unwrap_err().to_string();
        assert!(why.contains("failed to ask"), "{why}");
    }
}
