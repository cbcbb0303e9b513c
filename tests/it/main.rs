//! Integration tests, one binary. Each module says what part of tack it looks at.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agent_kit;
mod bad;
mod bad_place;
mod bad_secret;
mod bad_server;
mod bad_session;
mod bad_words;
#[cfg(target_os = "linux")]
mod bench;
mod bench_add;
mod bench_tasks;
mod cell;
mod claude;
mod compact;
mod config;
mod context;
mod demo;
mod deps;
mod docs;
mod exec;
mod exec_protocol;
mod exec_schema;
mod exec_shell;
mod exec_stop;
mod exec_stream;
mod external;
mod external_bad;
mod family;
mod fifteen;
mod gate;
mod harness;
mod harness_cli;
mod harness_deep;
mod harness_forge;
mod harness_kit;
mod harness_live;
mod harness_load;
mod harness_local;
mod harness_wire;
#[cfg(target_os = "linux")]
mod hostile;
mod install;
#[cfg(target_os = "linux")]
mod install_bad;
mod kimi;
mod kit;
mod layers;
mod local;
mod local_text;
mod login;
mod matrix;
mod matrix_masks;
mod mechanism_kit;
mod mechanisms_files;
mod mechanisms_turns;
mod models;
mod native;
mod newcomer;
mod newuser;
#[cfg(target_os = "linux")]
mod permit;
mod permit_more;
#[cfg(target_os = "linux")]
mod probe;
mod repl;
mod repl_ask;
mod repl_bad;
mod repl_choose;
mod repl_commands;
mod repl_draw;
mod repl_errors;
mod repl_kit;
mod repl_more;
mod repl_plain;
mod run_on;
mod sandbox;
#[cfg(target_os = "linux")]
mod sandbox_process;
#[cfg(target_os = "linux")]
mod sandbox_reduced;
#[cfg(target_os = "linux")]
mod sandbox_run;
#[cfg(target_os = "linux")]
mod sandbox_shared;
mod sdk;
mod server;
mod store;
mod switch;
mod terminus;
mod tools_cell;
mod tools_diff;
mod tools_edit;
mod tools_fetch;
mod tools_files;
mod tools_find;
mod tools_guard;
mod tools_kit;
mod tools_lasting;
mod tools_look;
mod tools_notebook;
mod tools_own;
mod tools_patch;
mod tools_revised;
mod tools_rewrite;
mod tools_shell;
mod tools_terminal;
mod tools_window;
mod tty;
mod tty_guard;
mod wire;
mod wire_auth;
mod wire_choice;
mod wire_client;
mod wire_effort;
mod wire_encode;
mod wire_messages;
mod wire_messages_encode;
mod wire_providers;
mod wire_proxy;
mod wire_quirks;
mod wire_refused;
mod wire_responses;
mod wire_responses_encode;
mod wire_rules;
mod wire_tls;
