#[cfg(target_os = "linux")]
mod cell;
#[cfg(target_os = "linux")]
mod sandbox;
