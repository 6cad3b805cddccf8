//! How the shared library is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // Threads that have made calls run destructors of the library when they end: it has to stay, even after `dlclose`.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
