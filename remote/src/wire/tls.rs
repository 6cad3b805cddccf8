//! TLS, by the certificates that the system trusts (or those of `SSL_CERT_FILE`).

use super::stream::Stream;
use crate::error::{ErrorKind, RemoteError};
use rustls::{ClientConfig, RootCertStore, crypto::CryptoProvider, pki_types::ServerName};
use std::{fmt, sync::Arc};
use tokio_rustls::TlsConnector;

/// What a server's certificate is checked by: read anew for each connection, as certificates change. One that cannot be read is an error, not one
/// less to trust.
pub(super) fn settings() -> Result<Arc<ClientConfig>, RemoteError> {
    let wrong =
        |error: &dyn fmt::Display| RemoteError::new(ErrorKind::Protocol, format!("certificates: {error}"));
    let mut roots = RootCertStore::empty();
    let mut found = rustls_native_certs::load_native_certs();
    if let Some(error) = found.errors.pop() {
        return Err(RemoteError::new(ErrorKind::Unreachable, format!("certificates: {error}")));
    }
    for certificate in found.certs {
        roots.add(certificate).map_err(|error| wrong(&error))?;
    }
    // The process' cryptography, if it has chosen one.
    let provider = CryptoProvider::get_default().cloned();
    let provider = provider.unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()));
    let settings = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(&error))?;
    Ok(Arc::new(settings.with_root_certificates(roots).with_no_client_auth()))
}

/// Over a connection, to a server that must be `name`.
pub(super) async fn connect(
    settings: &Arc<ClientConfig>,
    name: &str,
    connecting: impl Future<Output = Result<Stream, RemoteError>>,
) -> Result<Stream, RemoteError> {
    let wrong =
        |error: &dyn fmt::Display| RemoteError::new(ErrorKind::Unreachable, format!("{name}: {error}"));
    let named = ServerName::try_from(name).map_err(|error| wrong(&error))?.to_owned();
    let Stream::Tcp(stream) = connecting.await? else { return Err(wrong(&"TLS goes over TCP")) };
    let connected = TlsConnector::from(Arc::clone(settings)).connect(named, stream).await;
    Ok(Stream::Tls(Box::new(connected.map_err(|error| RemoteError::from_io(&error))?)))
}
