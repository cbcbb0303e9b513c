//! Harnesses and tasks are part of the binary: build again when one of their files changes.

fn main() {
    println!("cargo::rerun-if-changed=harnesses");
    println!("cargo::rerun-if-changed=benches/tasks");
}
