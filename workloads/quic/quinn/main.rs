//! A bulk download over quinn: bulk serve PORT [CC], and bulk fetch ADDRESS PORT SECONDS.
//!
//! The server sends to whoever opens a stream until that is closed, by the congestion control
//! cubic, newreno or bbr. The client says at its end how many bytes came. Both log into the
//! directory $QLOGDIR.

use std::env;
use std::error::Error;
use std::fs::File;
use std::io::LineWriter;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Connection, Endpoint, QlogConfig, ServerConfig, TransportConfig, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

type Failure = Box<dyn Error + Send + Sync>;

const PROTOCOL: &[u8] = b"bulk";
const PIECE: usize = 1 << 16;
/// Flow control is not what is looked at: so much may be on its way.
const WINDOW: u32 = 64 << 20;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", port] => serve(port, "cubic").await,
        ["serve", port, cc] => serve(port, cc).await,
        ["fetch", address, port, seconds] => fetch(address, port, seconds).await,
        _ => Err("bulk serve PORT [CC], or bulk fetch ADDRESS PORT SECONDS".into()),
    }
}

fn transport(name: &str) -> Result<TransportConfig, Failure> {
    let log = Path::new(&env::var("QLOGDIR")?).join(format!("{name}.sqlog"));
    let mut qlog = QlogConfig::default();
    qlog.writer(Box::new(LineWriter::new(File::create(log)?)));
    let mut found = TransportConfig::default();
    found
        .qlog_stream(qlog.into_stream())
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(WINDOW.into());
    Ok(found)
}

async fn serve(port: &str, cc: &str) -> Result<(), Failure> {
    let own = rcgen::generate_simple_self_signed(["bulk".to_string()])?;
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let mut tls = rustls::ServerConfig::builder_with_provider(ring::default_provider().into())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.into()], key.into())?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let control: Arc<dyn ControllerFactory + Send + Sync> = match cc {
        "cubic" => Arc::new(CubicConfig::default()),
        "newreno" => Arc::new(NewRenoConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        _ => return Err(format!("there is no congestion control {cc}").into()),
    };
    let mut transport = transport("server")?;
    transport.congestion_controller_factory(control);
    let mut settings = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    settings.transport_config(Arc::new(transport));
    let at = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port.parse()?);
    let endpoint = Endpoint::server(settings, at)?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(send(incoming.await?));
    }
    Ok(())
}

/// Send for as long as the client takes it.
async fn send(connection: Connection) {
    if let Ok((mut stream, _)) = connection.accept_bi().await {
        while stream.write_all(&[0; PIECE]).await.is_ok() {}
    }
}

async fn fetch(address: &str, port: &str, seconds: &str) -> Result<(), Failure> {
    let begin = Instant::now();
    let lasts = Duration::from_secs_f64(seconds.parse()?);
    let mut tls = rustls::ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody(ring::default_provider())))
        .with_no_client_auth();
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut settings = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    settings.transport_config(Arc::new(transport("client")?));
    let mut endpoint = Endpoint::client(SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0))?;
    endpoint.set_default_client_config(settings);
    let to = SocketAddr::new(address.parse()?, port.parse()?);
    let connection = endpoint.connect(to, "bulk")?.await?;
    let (mut asking, mut stream) = connection.open_bi().await?;
    asking.write_all(b"go").await?;
    let mut total = 0;
    let mut buffer = vec![0; PIECE];
    while let Some(left) = lasts.checked_sub(begin.elapsed()) {
        match tokio::time::timeout(left, stream.read(&mut buffer)).await {
            Ok(count) => total += count?.ok_or("the server has closed the stream")?,
            Err(_) => break,
        }
    }
    println!(r#"{{"bytes": {total}, "seconds": {:?}}}"#, begin.elapsed().as_secs_f64());
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}

/// Takes whatever certificate the server has.
#[derive(Debug)]
struct Anybody(CryptoProvider);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
