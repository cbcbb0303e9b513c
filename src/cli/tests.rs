//! The flags that programs which embed Codex send, in every order they may stand in.

use clap::Parser;
use proptest::prelude::*;

use super::{Cli, Command, exec};

/// What the official client puts before `resume`; each flag with its value stays together.
const FLAGS: &[&[&str]] = &[
    &["--experimental-json"],
    &["--config", "openai_base_url=\"http://127.0.0.1:1/v1\""],
    &["--config", "model_reasoning_effort=\"ultra\""],
    &["--config", "sandbox_workspace_write.network_access=true"],
    &["--config", "web_search=\"live\""],
    &["--config", "approval_policy=\"on-failure\""],
    &["--config", "features={}"],
    &["--config", "plain words"],
    &["--model", "m"],
    &["--thread-source", "user"],
    &["--sandbox", "workspace-write"],
    &["--cd", "/work"],
    &["--add-dir", "/a"],
    &["--add-dir", "/b"],
    &["--skip-git-repo-check"],
    &["--output-schema", "/tmp/schema.json"],
    &["--cyber-access-program", "v"],
    &["--image", "before.png"],
];

fn parsed(args: &[&str]) -> exec::Parsed {
    let cli =
        Cli::try_parse_from(["tack"].iter().chain(args)).unwrap_or_else(|error| panic!("{args:?}: {error}"));
    match cli.command {
        Some(Command::Exec(args)) => exec::parsed(*args, cli.session, cli.exec).unwrap(),
        other => panic!("{args:?}: {other:?}"),
    }
}

fn holds_everything(parsed: &exec::Parsed) {
    let (session, exec) = (&parsed.session, &parsed.exec);
    assert_eq!(session.config.len(), 7);
    assert_eq!(session.model.as_deref(), Some("m"));
    assert!(session.sandbox.is_some() && exec.json.is_some() && exec.skip_git_repo_check);
    assert_eq!(session.cd.as_deref(), Some("/work".as_ref()));
    assert_eq!(session.add_dir.len(), 2);
    assert_eq!(exec.output_schema.as_deref(), Some("/tmp/schema.json".as_ref()));
}

proptest! {
    #[test]
    fn flags_are_understood_in_any_order(
        order in Just(FLAGS.to_vec()).prop_shuffle(),
        split in 0..=FLAGS.len(),
        resumes: bool,
    ) {
        let (before, after) = order.split_at(split);
        let mut args = vec!["exec"];
        args.extend(before.concat());
        if resumes {
            args.extend(["resume", "0198-id"]);
        }
        args.extend(after.concat());
        args.extend(["--image", "a.png", "--image", "b.png,c.png"]);
        let parsed = parsed(&args);
        holds_everything(&parsed);
        prop_assert_eq!(parsed.prompt, None);
        let mut images = parsed.session.image.clone();
        images.sort();
        prop_assert_eq!(images, ["a.png", "b.png,c.png", "before.png"]);
        prop_assert_eq!(matches!(&parsed.which, super::setup::Which::Id(id) if id == "0198-id"), resumes);
    }
}

#[test]
fn the_prompt_is_found_wherever_it_stands() {
    for (args, prompt) in [
        (&["exec", "--json", "-"][..], Some("-")),
        (&["exec", "--json"], None),
        (&["exec", "go", "--json"], Some("go")),
        (&["exec", "resume", "id", "go", "--json"], Some("go")),
        (&["exec", "--json", "resume", "id", "-"], Some("-")),
        (&["exec", "resume", "--last", "go"], Some("go")),
        (&["exec", "resume", "--last"], None),
    ] {
        assert_eq!(parsed(args).prompt.as_deref(), prompt, "{args:?}");
    }
}
