//! The `windlass` tool. All of it is in the library, for the fuzz targets as well.

use std::process::ExitCode;

fn main() -> ExitCode {
    windlass_cli::main()
}
