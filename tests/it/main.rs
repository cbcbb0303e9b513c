#[cfg(target_os = "linux")]
mod cell;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod sandbox_process;
#[cfg(target_os = "linux")]
mod sandbox_reduced;
#[cfg(target_os = "linux")]
mod sandbox_run;
