//! How the shared library is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // Threads that have made calls run destructors of the library when they end: it has to stay, even after `dlclose`.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        // The name by which programs look for it: it has in it what changes when programs have to be linked again. docs/abi.md.
        let part = |name: &str| std::env::var(format!("CARGO_PKG_VERSION_{name}")).unwrap_or_default();
        let (major, minor) = (part("MAJOR"), part("MINOR"));
        let version = if major == "0" { format!("0.{minor}") } else { major };
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libwindlass.so.{version}");
    }
}
