//! rskafka over rustls: a producer and a consumer that run until they are killed: session KEY=VALUE...
//!
//! Keys: bootstrap, ca, id, topic, user, password, mechanism, pause (ms), tls (1.2 or 1.3), suite (IANA's name),
//! provider (ring or aws-lc).

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use rskafka::client::partition::{Compression, OffsetAt, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder, Credentials, SaslConfig};
use rskafka::record::Record;
use rustls::crypto::{CryptoProvider, aws_lc_rs, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion, version};

type Options = HashMap<String, String>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words = std::env::args().skip(1);
    let options: Options = words
        .filter_map(|word| {
            word.split_once('=')
                .map(|(name, value)| (name.into(), value.into()))
        })
        .collect();
    let tls = Arc::new(tls(&options)?);
    tokio::try_join!(produce(&options, tls.clone()), consume(&options, tls))?;
    Ok(())
}

fn tls(options: &Options) -> Result<ClientConfig, Box<dyn Error>> {
    let mut provider = match options.get("provider").map(String::as_str) {
        Some("aws-lc") => aws_lc_rs::default_provider(),
        _ => ring::default_provider(),
    };
    limit(&mut provider, options.get("suite"));
    let versions: &[&SupportedProtocolVersion] = match options.get("tls").map(String::as_str) {
        Some("1.2") => &[&version::TLS12],
        Some("1.3") => &[&version::TLS13],
        _ => rustls::ALL_VERSIONS,
    };
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&options["ca"])?)?;
    Ok(ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(versions)?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// Keep one suite; rustls has names of its own for those of TLS 1.3, which begin with TLS13_.
fn limit(provider: &mut CryptoProvider, suite: Option<&String>) {
    if let Some(suite) = suite {
        provider.cipher_suites.retain(|each| {
            let name = format!("{:?}", each.suite()).replace("TLS13_", "TLS_");
            name == *suite
        });
    }
}

async fn client(options: &Options, tls: Arc<ClientConfig>) -> Result<Client, Box<dyn Error>> {
    let login = Credentials::new(options["user"].clone(), options["password"].clone());
    let sasl = match options["mechanism"].as_str() {
        "SCRAM-SHA-256" => SaslConfig::ScramSha256(login),
        "SCRAM-SHA-512" => SaslConfig::ScramSha512(login),
        _ => SaslConfig::Plain(login),
    };
    let builder = ClientBuilder::new(vec![options["bootstrap"].clone()])
        .client_id(options["id"].clone())
        .tls_config(tls)
        .sasl_config(sasl);
    Ok(builder.build().await?)
}

async fn produce(options: &Options, tls: Arc<ClientConfig>) -> Result<(), Box<dyn Error>> {
    let client = client(options, tls).await?;
    let partition = client
        .partition_client(&options["topic"], 0, UnknownTopicHandling::Retry)
        .await?;
    let pause = Duration::from_millis(options["pause"].parse()?);
    loop {
        let record = Record {
            key: None,
            value: Some(b"value".to_vec()),
            headers: BTreeMap::new(),
            timestamp: chrono::Utc::now(),
        };
        partition
            .produce(vec![record], Compression::NoCompression)
            .await?;
        tokio::time::sleep(pause).await;
    }
}

async fn consume(options: &Options, tls: Arc<ClientConfig>) -> Result<(), Box<dyn Error>> {
    let client = client(options, tls).await?;
    let partition = client
        .partition_client(&options["topic"], 0, UnknownTopicHandling::Retry)
        .await?;
    let mut offset = partition.get_offset(OffsetAt::Latest).await?;
    loop {
        let (records, _) = partition.fetch_records(offset, 1..1_000_000, 100).await?;
        offset = records.last().map_or(offset, |record| record.offset + 1);
    }
}
