//! Certificates: who is trusted, and what is said of one that is not.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection};
use tack::wire::client::HttpClient;
use tack::wire::prompt::{Message, Prompt, Role};
use tack::wire::provider::Provider;
use tack::wire::{Client, Failure};
use tokio_util::sync::CancellationToken;

use super::kit::Tack;
use super::wire_encode::model;

/// A CA of our own.
struct Ca {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Ca {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "a CA of our own");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// A server with a certificate of this CA for `host`, good until the end of the year `until`.
    fn serve(&self, host: &str, from: i32, until: i32) -> Server {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([host.to_owned()]).unwrap();
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(until, 12, 31);
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        Server::start(cert.der().clone(), &key)
    }
}

/// Answers one request over TLS.
struct Server {
    url: String,
    thread: Option<JoinHandle<()>>,
}

const BODY: &str = r#"{"choices":[{"message":{"content":"trusted"},"finish_reason":"stop"}]}"#;

impl Server {
    fn start(cert: CertificateDer<'static>, key: &KeyPair) -> Self {
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        let thread = std::thread::spawn(move || {
            let (mut tcp, _) = listener.accept().unwrap();
            let mut tls = ServerConnection::new(Arc::new(config)).unwrap();
            let mut stream = rustls::Stream::new(&mut tls, &mut tcp);
            let mut request = Vec::new();
            let mut some = [0; 4096];
            // A client that does not trust us ends the connection here.
            while !request.ends_with(b"}") {
                match stream.read(&mut some) {
                    Ok(read) if read > 0 => request.extend_from_slice(&some[..read]),
                    _ => return,
                }
            }
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\n";
            write!(stream, "{head}content-length: {}\r\n\r\n{BODY}", BODY.len()).unwrap();
            stream.conn.send_close_notify();
            let _ = stream.flush();
        });
        Self { url, thread: Some(thread) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.thread.take().unwrap().join();
    }
}

async fn ask(server: &Server, ca_file: Option<&Path>) -> Result<(), Failure> {
    let provider = Provider {
        name: "Acme".into(),
        ca_file: ca_file.map(Path::to_owned),
        request_retries: 0,
        ..Provider::new("acme", server.url.as_str())
    };
    let prompt = Prompt { messages: vec![Message::text(Role::User, "hi")], ..Prompt::default() };
    let client = HttpClient::new(provider).unwrap();
    client.ask(&model(), &prompt, &mut |_| {}, &CancellationToken::new()).await.map(drop)
}

#[tokio::test]
async fn each_fault_of_a_certificate_is_said_with_what_to_do() {
    let ca = Ca::new();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ca.pem");
    std::fs::write(&file, &ca.pem).unwrap();
    let own_key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&own_key).unwrap();

    let good = ca.serve("localhost", 2020, 2090);
    ask(&good, Some(&file)).await.unwrap();
    let cases = [
        ("by a private CA", ca.serve("localhost", 2020, 2090), None),
        ("signed by itself", Server::start(own.der().clone(), &own_key), Some(&file)),
        ("expired", ca.serve("localhost", 2020, 2021), Some(&file)),
        ("of the future", ca.serve("localhost", 2089, 2090), Some(&file)),
        ("for another host", ca.serve("other.example", 2020, 2090), Some(&file)),
    ];
    let mut said = String::new();
    for (name, server, trusted) in cases {
        let failure = ask(&server, trusted.map(|file| file.as_path())).await.unwrap_err();
        assert!(matches!(failure, Failure::Setup { .. }), "{name}: {failure:?}");
        said += &format!("{name}: {failure}\n");
    }
    insta::assert_snapshot!(said);
}

#[test]
fn a_private_ca_is_trusted_by_variable_or_key() {
    let ca = Ca::new();
    for by_key in [true, false] {
        let server = ca.serve("localhost", 2020, 2090);
        let tack = Tack::bare();
        let file = tack.home().join("ca.pem");
        std::fs::write(&file, &ca.pem).unwrap();
        let key = if by_key { format!("ca_certificate = {file:?}\n") } else { String::new() };
        tack.config(&format!(
            "model = \"m\"\nmodel_provider = \"acme\"\nharness = \"minimal\"\n\
             [model_providers.acme]\nbase_url = \"{}\"\n{key}",
            server.url
        ));
        let tack = if by_key { tack } else { tack.env("SSL_CERT_FILE", file.to_str().unwrap()) };
        let ran = tack.run(["-p", "hi"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "trusted\n"), "{}", ran.stderr);
    }
}
