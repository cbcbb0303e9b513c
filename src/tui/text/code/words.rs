//! What the lexer knows of languages: one table row each.

/// How a language writes comments, strings and its own words.
#[derive(Debug)]
pub(super) struct Lexicon {
    /// Names in fences and endings of files.
    names: &'static [&'static str],
    pub(super) line: &'static [&'static str],
    pub(super) block: &'static [(&'static str, &'static str)],
    /// Strings within a line.
    pub(super) quotes: &'static str,
    /// Strings that go over lines; before `quotes`.
    pub(super) long: &'static [(&'static str, &'static str)],
    /// Blank between words.
    keywords: &'static str,
    /// Types and constants that the language names itself.
    kinds: &'static str,
    pub(super) habit: Habit,
}

/// What else a word may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Habit {
    /// Capitals begin a type, a bracket follows a function.
    Code,
    /// As code, with lifetimes, raw strings and macros.
    Rust,
    /// Words count in any case.
    Sql,
    /// A word before `:` or `=` is a key.
    Keys,
    /// Only what is between angle brackets is looked at.
    Markup,
    /// Rows that begin with `+` and `-`.
    Diff,
    /// Commands and `$variables`.
    Shell,
}

impl Lexicon {
    /// The language of a fence, or of a file by its path.
    pub(super) fn of(name: &str) -> Option<&'static Self> {
        let name = name.rsplit(['/', '\\']).next().unwrap_or(name).to_ascii_lowercase();
        let ending = name.rsplit('.').next().unwrap_or(&name);
        LEXICONS.iter().find(|known| known.names.contains(&&*name) || known.names.contains(&ending))
    }

    pub(super) fn keyword(&self, word: &str) -> bool {
        self.has(self.keywords, word)
    }

    pub(super) fn kind(&self, word: &str) -> bool {
        self.has(self.kinds, word)
    }

    fn has(&self, words: &str, word: &str) -> bool {
        words.split(' ').any(|known| match self.habit {
            Habit::Sql => known.eq_ignore_ascii_case(word),
            Habit::Code | Habit::Rust | Habit::Keys | Habit::Markup | Habit::Diff | Habit::Shell => {
                known == word
            }
        })
    }
}

const C_LINE: &[&str] = &["//"];
const C_BLOCK: &[(&str, &str)] = &[("/*", "*/")];
const HASH: &[&str] = &["#"];
const NO_PAIRS: &[(&str, &str)] = &[];

static LEXICONS: [Lexicon; 21] = [
    Lexicon {
        names: &["rust", "rs"],
        line: C_LINE,
        block: C_BLOCK,
        quotes: "'",
        long: &[("r##\"", "\"##"), ("r#\"", "\"#"), ("\"", "\"")],
        keywords: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type union unsafe use where while yield",
        kinds: "bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize",
        habit: Habit::Rust,
    },
    Lexicon {
        names: &["python", "py", "py3", "python3", "pyi", "pycon"],
        line: HASH,
        block: NO_PAIRS,
        quotes: "\"'",
        long: &[("\"\"\"", "\"\"\""), ("'''", "'''")],
        keywords: "False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return self try while with yield",
        kinds: "bool bytes dict float int list object set str tuple type",
        habit: Habit::Code,
    },
    Lexicon {
        names: &[
            "javascript",
            "js",
            "jsx",
            "mjs",
            "cjs",
            "typescript",
            "ts",
            "tsx",
            "mts",
            "cts",
            "vue",
            "svelte",
        ],
        line: C_LINE,
        block: C_BLOCK,
        quotes: "\"'",
        long: &[("`", "`")],
        keywords: "abstract as async await break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in instanceof interface keyof let namespace new null of private protected public readonly return satisfies set static super switch this throw true try type typeof undefined var void while with yield",
        kinds: "any bigint boolean never number object string symbol unknown",
        habit: Habit::Code,
    },
    Lexicon {
        names: &["go", "golang"],
        line: C_LINE,
        block: C_BLOCK,
        quotes: "\"'",
        long: &[("`", "`")],
        keywords: "break case chan const continue default defer else fallthrough false for func go goto if import interface iota map nil package range return select struct switch true type var",
        kinds: "any bool byte complex128 complex64 error float32 float64 int int16 int32 int64 int8 rune string uint uint16 uint32 uint64 uint8 uintptr",
        habit: Habit::Code,
    },
    Lexicon {
        names: &["c", "h", "cpp", "c++", "cc", "cxx", "hpp", "hh", "objc", "m", "cuda", "cu", "glsl"],
        line: C_LINE,
        block: C_BLOCK,
        quotes: "\"'",
        long: NO_PAIRS,
        keywords: "alignas alignof auto break case catch class const consteval constexpr continue co_await co_return co_yield default delete do else enum explicit export extern false final for friend goto if inline mutable namespace new noexcept nullptr operator override private protected public register requires return sizeof static static_assert struct switch template this throw true try typedef typename union using virtual volatile while #define #elif #else #endif #error #if #ifdef #ifndef #include #pragma #undef",
        kinds: "bool char double float int int16_t int32_t int64_t int8_t long short signed size_t ssize_t uint16_t uint32_t uint64_t uint8_t unsigned void wchar_t NULL",
        habit: Habit::Code,
    },
    Lexicon {
        names: &[
            "java", "kotlin", "kt", "kts", "scala", "groovy", "gradle", "csharp", "cs", "c#", "dart",
            "swift", "zig", "solidity", "sol",
        ],
        line: C_LINE,
        block: C_BLOCK,
        quotes: "\"'",
        long: &[("\"\"\"", "\"\"\"")],
        keywords: "abstract actor as async await base break case catch class companion const continue data default defer delegate do else enum event explicit export extends extension false final finally fn for foreach fun func function get given goto guard if implements implicit import in init inline inner instanceof interface internal is lateinit lazy let lock match mutating namespace native new nil null object open operator out override package params private protected protocol pub public readonly record ref return sealed set static struct super switch synchronized then this throw throws trait transient true try typealias typeof union unsafe using val var virtual volatile when where while with yield",
        kinds: "bool boolean byte char decimal double dynamic float int long short string uint ulong ushort void",
        habit: Habit::Code,
    },
    Lexicon {
        names: &["php"],
        line: &["//", "#"],
        block: C_BLOCK,
        quotes: "\"'",
        long: NO_PAIRS,
        keywords: "abstract and array as break case catch class clone const continue declare default do echo else elseif empty enum extends false final finally fn for foreach function global goto if implements include include_once instanceof interface isset match namespace new null or print private protected public readonly require require_once return static switch this throw trait true try unset use var while xor yield",
        kinds: "bool float int iterable mixed object string void",
        habit: Habit::Code,
    },
    Lexicon {
        names: &["ruby", "rb", "rakefile", "gemfile", "elixir", "ex", "exs", "crystal", "julia", "jl"],
        line: HASH,
        block: &[("=begin", "=end")],
        quotes: "\"'",
        long: &[("\"\"\"", "\"\"\"")],
        keywords: "alias and begin break case class cond def defmodule defp defstruct do else elsif end ensure extend false fn for function if import in include module mutable new next nil not or private protected public raise redo require require_relative rescue retry return self struct super then true undef unless until use using when where while with yield",
        kinds: "Array Bool Float64 Hash Int Int64 Integer Map String Symbol",
        habit: Habit::Code,
    },
    Lexicon {
        names: &["lua"],
        line: &["--"],
        block: &[("--[[", "]]")],
        quotes: "\"'",
        long: &[("[[", "]]")],
        keywords: "and break do else elseif end false for function goto if in local nil not or repeat return then true until while",
        kinds: "",
        habit: Habit::Code,
    },
    Lexicon {
        names: &["haskell", "hs", "ocaml", "ml", "elm", "fsharp", "fs"],
        line: &["--", "//"],
        block: &[("{-", "-}"), ("(*", "*)")],
        quotes: "\"",
        long: NO_PAIRS,
        keywords: "and as begin case class data deriving do else end fun function if import in infixl infixr instance let match module mutable newtype of open qualified rec sig struct then type val where with",
        kinds: "bool float int string unit",
        habit: Habit::Code,
    },
    Lexicon {
        names: &[
            "shell",
            "sh",
            "bash",
            "zsh",
            "fish",
            "console",
            "shellsession",
            "shell-session",
            "bashrc",
            "zshrc",
            "profile",
        ],
        line: HASH,
        block: NO_PAIRS,
        quotes: "",
        long: &[("\"", "\""), ("'", "'")],
        keywords: "break case continue do done elif else esac eval exec exit export fi for function if in local readonly return select set shift source then trap until unset while",
        kinds: "",
        habit: Habit::Shell,
    },
    Lexicon {
        names: &["powershell", "ps1", "pwsh", "batch", "bat", "cmd"],
        line: &["#", "REM ", "rem "],
        block: &[("<#", "#>")],
        quotes: "\"'",
        long: NO_PAIRS,
        keywords: "begin break catch class continue do else elseif end exit finally for foreach function goto if in not param process return set switch throw trap try until while",
        kinds: "",
        habit: Habit::Shell,
    },
    Lexicon {
        names: &[
            "dockerfile",
            "docker",
            "containerfile",
            "makefile",
            "make",
            "mk",
            "cmake",
            "nix",
            "just",
            "justfile",
        ],
        line: HASH,
        block: NO_PAIRS,
        quotes: "\"'",
        long: NO_PAIRS,
        keywords: "ADD ARG AS CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL ONBUILD RUN SHELL STOPSIGNAL USER VOLUME WORKDIR define else endef endif export if ifdef ifeq ifndef ifneq include inherit let in rec set then with",
        kinds: "",
        habit: Habit::Shell,
    },
    Lexicon {
        names: &[
            "toml",
            "ini",
            "cfg",
            "conf",
            "properties",
            "editorconfig",
            "env",
            "lock",
            "hcl",
            "tf",
            "terraform",
        ],
        line: &["#", ";"],
        block: NO_PAIRS,
        quotes: "\"'",
        long: &[("\"\"\"", "\"\"\""), ("'''", "'''")],
        keywords: "true false null inf nan",
        kinds: "",
        habit: Habit::Keys,
    },
    Lexicon {
        names: &["yaml", "yml"],
        line: HASH,
        block: NO_PAIRS,
        quotes: "\"'",
        long: NO_PAIRS,
        keywords: "true false null yes no on off ~",
        kinds: "",
        habit: Habit::Keys,
    },
    Lexicon {
        names: &["json", "json5", "jsonc", "jsonl", "ndjson", "ipynb"],
        line: C_LINE,
        block: C_BLOCK,
        quotes: "\"'",
        long: NO_PAIRS,
        keywords: "true false null",
        kinds: "",
        habit: Habit::Keys,
    },
    Lexicon {
        names: &["sql", "postgresql", "postgres", "mysql", "sqlite", "plsql"],
        line: &["--"],
        block: C_BLOCK,
        quotes: "\"",
        long: &[("'", "'")],
        keywords: "add all alter and any as asc begin between by cascade case check column commit constraint create cross database default delete desc distinct drop else end except exists explain foreign from full function group having if in index inner insert intersect into is join key left like limit not null offset on or order outer over partition primary references returning right rollback select set table then transaction trigger truncate union unique update using values view when where with",
        kinds: "bigint blob bool boolean char date decimal double float int integer interval json jsonb numeric real serial smallint text time timestamp uuid varchar",
        habit: Habit::Sql,
    },
    Lexicon {
        names: &["html", "htm", "xml", "svg", "xhtml", "rss", "plist", "xsl"],
        line: &[],
        block: &[("<!--", "-->")],
        quotes: "\"'",
        long: NO_PAIRS,
        keywords: "",
        kinds: "",
        habit: Habit::Markup,
    },
    Lexicon {
        names: &["css", "scss", "sass", "less"],
        line: C_LINE,
        block: C_BLOCK,
        quotes: "\"'",
        long: NO_PAIRS,
        keywords: "@charset @else @font-face @for @forward @function @if @import @include @keyframes @layer @media @mixin @return @supports @use important",
        kinds: "",
        habit: Habit::Keys,
    },
    Lexicon {
        names: &["graphql", "gql", "proto", "protobuf", "prisma", "thrift"],
        line: &["//", "#"],
        block: C_BLOCK,
        quotes: "\"'",
        long: &[("\"\"\"", "\"\"\"")],
        keywords: "enum extend false fragment import input interface message model mutation on oneof option optional package query repeated required returns rpc scalar schema service subscription syntax true type union",
        kinds: "Boolean Float ID Int String bool bytes double fixed32 fixed64 float int32 int64 sint32 sint64 string uint32 uint64",
        habit: Habit::Code,
    },
    Lexicon {
        names: &["diff", "patch"],
        line: &[],
        block: NO_PAIRS,
        quotes: "",
        long: NO_PAIRS,
        keywords: "",
        kinds: "",
        habit: Habit::Diff,
    },
];
