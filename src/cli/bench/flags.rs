//! Flags of `tack harness bench` and of its `compare`.

use std::path::PathBuf;

use clap::Args;

use crate::bench::External;

#[derive(Args, Clone, Debug, Default)]
pub(super) struct Flags {
    /// Models to run, each as for `-m`; the configured one when left out
    #[arg(short, long, alias = "model", value_name = "M[,M]", value_delimiter = ',')]
    pub(super) models: Vec<String>,
    /// Folder of task folders; those that come with tack when left out
    #[arg(long, value_name = "DIR")]
    pub(super) tasks: Option<PathBuf>,
    /// Only tasks of these names or tags
    #[arg(long, value_name = "NAME[,NAME]", value_delimiter = ',')]
    pub(super) only: Vec<String>,
    /// Only the half that is kept from tuning harnesses
    #[arg(long, conflicts_with = "tuning")]
    pub(super) kept: bool,
    /// Only the half that harnesses may be tuned on
    #[arg(long)]
    pub(super) tuning: bool,
    /// Runs of each task
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) runs: u32,
    /// Shuffle the tasks by this number, and have local servers sample by it
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
    /// Runs at a time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(super) parallel: u16,
    /// Stop when this much money is spent, in US dollars
    #[arg(long, value_name = "USD", value_parser = crate::cli::args::amount, allow_negative_numbers = true)]
    pub(super) max_cost: Option<f64>,
    /// Results file, read and added to
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Run everything again, whatever the results file has
    #[arg(long)]
    pub(super) fresh: bool,
    /// Another agent, by the command that starts it: {prompt}, {dir}, {model} and {base_url} are filled in (repeatable)
    #[arg(long, value_name = "NAME=COMMAND", value_parser = External::parse)]
    pub(super) external: Vec<(String, External)>,
    /// Show each task
    #[arg(long)]
    pub(super) by_task: bool,
    /// Keep what the agents left, beside the results file
    #[arg(long)]
    pub(super) keep: bool,
    /// Use the recommended harness for the model from now on
    #[arg(long)]
    pub(super) store: bool,
    /// Print entries and sums as JSON
    #[arg(long)]
    pub(super) json: bool,
}
