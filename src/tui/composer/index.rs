//! The names of the files below a folder, and which of them fit what is typed after `@`. All of it happens
//! on a thread of its own: a key only leaves a question behind. Follows no links, so a loop ends.
//!
//! Git's ignore rules hold, in a folder without git too; `.git` is never shown, other hidden files are.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ignore::{DirEntry, WalkBuilder};
use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::mention;

/// Hits that are shown of a question.
pub(super) const MOST_HITS: usize = 64;
/// Names kept of a folder; what is beyond is not offered.
const MOST_NAMES: usize = 500_000;
/// Names between two looks at whether something newer was asked.
const STEP: usize = 512;
/// How often hits are told while the walk goes on.
const TELL: Duration = Duration::from_millis(40);
/// How old a walk may be when the list opens again.
const FRESH: Duration = Duration::from_secs(3);

/// An answer, perhaps not yet a full one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hits {
    /// The question it is for.
    pub(super) of: u64,
    /// Best first, as written after `@`; with the characters that fit.
    pub(super) rows: Vec<(String, Vec<u32>)>,
    /// Whether there are still names to come.
    pub(super) walking: bool,
}

/// An index that starts when it is first needed.
pub(super) struct Lazy {
    folder: PathBuf,
    wake: Arc<dyn Fn() + Send + Sync>,
    index: Option<Index>,
}

pub(super) struct Index {
    desk: Arc<Desk>,
}

/// Where questions and answers lie. Locked for moments only.
struct Desk {
    papers: Mutex<Papers>,
    bell: Condvar,
    /// The newest question: work for an older one stops.
    newest: AtomicU64,
}

#[derive(Default)]
struct Papers {
    question: String,
    /// Somebody looks at a list anew: names may have changed.
    opened: bool,
    hits: Hits,
    closed: bool,
}

impl Lazy {
    pub(super) fn new(folder: PathBuf, wake: Arc<dyn Fn() + Send + Sync>) -> Self {
        Self { folder, wake, index: None }
    }

    pub(super) fn get(&self) -> Option<&Index> {
        self.index.as_ref()
    }

    /// Starts it if need be; none if the system has no thread left.
    pub(super) fn start(&mut self) -> Option<&Index> {
        if self.index.is_none() {
            self.index = Index::start(self.folder.clone(), Arc::clone(&self.wake));
        }
        self.index.as_ref()
    }
}

impl Index {
    fn start(folder: PathBuf, wake: Arc<dyn Fn() + Send + Sync>) -> Option<Self> {
        let papers = Mutex::new(Papers::default());
        let desk = Arc::new(Desk { papers, bell: Condvar::new(), newest: AtomicU64::new(0) });
        let theirs = Arc::clone(&desk);
        let work = move || Clerk::new(folder, theirs, wake).work();
        std::thread::Builder::new().name("files".to_owned()).spawn(work).ok()?;
        Some(Self { desk })
    }

    /// Asks for what fits `question`, instead of what was asked before. The number is that of the answer.
    pub(super) fn ask(&self, question: &str) -> u64 {
        let mut papers = self.desk.papers();
        question.clone_into(&mut papers.question);
        let number = self.desk.newest.fetch_add(1, Ordering::Relaxed) + 1;
        drop(papers);
        self.desk.bell.notify_all();
        number
    }

    /// Tells that a list opens.
    pub(super) fn opened(&self) {
        self.desk.papers().opened = true;
        self.desk.bell.notify_all();
    }

    pub(super) fn hits(&self) -> Hits {
        self.desk.papers().hits.clone()
    }

    /// The answer to question `number`, if it comes within `wait`.
    pub(super) fn answer(&self, number: u64, wait: Duration) -> Option<Hits> {
        let papers = self.desk.papers();
        let waited = self.desk.bell.wait_timeout_while(papers, wait, |papers| papers.hits.of != number);
        let (papers, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (papers.hits.of == number).then(|| papers.hits.clone())
    }
}

impl Drop for Index {
    /// The thread ends at its next step. It is not waited for: a dead network folder may hold it.
    fn drop(&mut self) {
        self.desk.papers().closed = true;
        self.desk.newest.fetch_add(1, Ordering::Relaxed);
        self.desk.bell.notify_all();
    }
}

impl Desk {
    fn papers(&self) -> MutexGuard<'_, Papers> {
        self.papers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Names, end to end in one text.
#[derive(Default)]
struct Names {
    text: String,
    ends: Vec<u32>,
}

impl Names {
    fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn name(&self, at: usize) -> &str {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[at] as usize]
    }

    fn is_full(&self) -> bool {
        self.len() >= MOST_NAMES || self.text.len() > (u32::MAX / 2) as usize
    }
}

/// A question being answered: the best so far, as score and place.
struct Search {
    number: u64,
    atom: Option<Atom>,
    best: Vec<(u16, usize)>,
}

/// A walk that goes on.
struct Walk {
    entries: std::iter::Peekable<ignore::Walk>,
    /// What it found, if it is not the first.
    again: Option<Names>,
}

struct Clerk {
    folder: PathBuf,
    desk: Arc<Desk>,
    wake: Arc<dyn Fn() + Send + Sync>,
    names: Names,
    walk: Option<Walk>,
    /// When the last walk ended.
    walked: Option<Instant>,
    search: Search,
    matcher: Matcher,
    letters: Vec<char>,
    told: Option<Instant>,
}

impl Clerk {
    fn new(folder: PathBuf, desk: Arc<Desk>, wake: Arc<dyn Fn() + Send + Sync>) -> Self {
        Self {
            walk: Some(Walk { entries: walk(&folder), again: None }),
            folder,
            desk,
            wake,
            names: Names::default(),
            walked: None,
            search: Search { number: 0, atom: None, best: Vec::new() },
            matcher: Matcher::new(Config::DEFAULT.match_paths()),
            letters: Vec::new(),
            told: None,
        }
    }

    fn work(mut self) {
        while let Some(question) = self.next() {
            if let Some((number, text)) = question {
                let atom = (!text.is_empty()).then(|| {
                    Atom::new(&text, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy, false)
                });
                self.search = Search { number, atom, best: Vec::new() };
                self.look(0);
                self.tell();
            }
            self.step();
        }
    }

    /// The next question, or that there is none but still a walk to do; none when it is over.
    #[allow(clippy::option_option, reason = "the outer one ends a loop")]
    fn next(&mut self) -> Option<Option<(u64, String)>> {
        let desk = Arc::clone(&self.desk);
        let mut papers = desk.papers();
        loop {
            if papers.closed {
                return None;
            }
            if std::mem::take(&mut papers.opened) && self.walked.is_some_and(|end| end.elapsed() > FRESH) {
                self.walked = None;
                self.walk = Some(Walk { entries: walk(&self.folder), again: Some(Names::default()) });
            }
            let newest = desk.newest.load(Ordering::Relaxed);
            if newest != self.search.number {
                return Some(Some((newest, papers.question.clone())));
            }
            if self.walk.is_some() {
                return Some(None);
            }
            papers = desk.bell.wait(papers).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Some names more. A first walk is searched as it goes; a later one takes the place of the old names
    /// when it is through.
    fn step(&mut self) {
        let Some(mut walk) = self.walk.take() else { return };
        let from = self.names.len();
        let into = walk.again.as_mut().unwrap_or(&mut self.names);
        let mut through = into.is_full();
        // What cannot be read cannot be named either.
        for entry in walk.entries.by_ref().take(STEP).flatten() {
            add(into, &entry, &self.folder);
        }
        through |= walk.entries.peek().is_none();
        match (walk.again.take(), through) {
            (None, _) => self.look(from),
            (Some(names), true) => {
                self.names = names;
                self.search.best.clear();
                self.look(0);
            }
            (again @ Some(_), false) => walk.again = again,
        }
        if through {
            self.walked = Some(Instant::now());
        } else {
            self.walk = Some(walk);
        }
        if through || self.told.is_none_or(|told| told.elapsed() >= TELL) {
            self.tell();
        }
    }

    /// Holds the names from `from` on against the question, unless a newer one comes.
    fn look(&mut self, from: usize) {
        let Self { search, names, matcher, letters, desk, .. } = self;
        let mut at = from;
        while at < names.len() {
            if desk.newest.load(Ordering::Relaxed) != search.number {
                return;
            }
            let end = names.len().min(at + 8 * STEP);
            for name in at..end {
                let score = match &search.atom {
                    None => Some(0),
                    Some(atom) => atom.score(Utf32Str::new(names.name(name), letters), matcher),
                };
                search.best.extend(score.map(|score| (score, name)));
            }
            // Ahead: what fits best, then what is nearer, shorter, first by name.
            search.best.sort_by_cached_key(|(score, at)| {
                let name = names.name(*at).trim_matches('"');
                let deep = name.trim_end_matches('/').matches('/').count();
                let near = if search.atom.is_some() { (0, name.len()) } else { (deep, 0) };
                (Reverse(*score), near, name)
            });
            search.best.truncate(MOST_HITS);
            at = end;
        }
    }

    fn tell(&mut self) {
        let Search { number, atom, best } = &self.search;
        let rows = best.iter().map(|(_, at)| {
            let name = self.names.name(*at);
            let mut fits = Vec::new();
            if let Some(atom) = atom {
                atom.indices(Utf32Str::new(name, &mut self.letters), &mut self.matcher, &mut fits);
                fits.sort_unstable();
                fits.dedup();
            }
            (name.to_owned(), fits)
        });
        let hits = Hits { of: *number, rows: rows.collect(), walking: self.walk.is_some() };
        self.told = Some(Instant::now());
        if self.desk.newest.load(Ordering::Relaxed) != hits.of {
            return;
        }
        let mut papers = self.desk.papers();
        if papers.hits != hits {
            papers.hits = hits;
            drop(papers);
            self.desk.bell.notify_all();
            (self.wake)();
        }
    }
}

fn walk(folder: &Path) -> std::iter::Peekable<ignore::Walk> {
    WalkBuilder::new(folder)
        .hidden(false)
        .require_git(false)
        .follow_links(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build()
        .peekable()
}

/// The entry as written behind `@`, a folder with `/` at its end.
fn add(names: &mut Names, entry: &DirEntry, folder: &Path) {
    let Some(path) = entry.path().strip_prefix(folder).ok().filter(|path| !path.as_os_str().is_empty())
    else {
        return;
    };
    let is_folder = match entry.file_type() {
        Some(kind) if kind.is_symlink() => entry.path().is_dir(),
        Some(kind) => kind.is_dir(),
        None => false,
    };
    // Ends in `/` by joining nothing, whatever the system writes between names.
    let path = if is_folder { path.join("") } else { path.to_owned() };
    names.push(&mention::written(&path));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clerk without a thread, through with its first walk.
    fn clerk(folder: &Path) -> Clerk {
        let papers = Mutex::new(Papers::default());
        let desk = Arc::new(Desk { papers, bell: Condvar::new(), newest: AtomicU64::new(0) });
        let mut clerk = Clerk::new(folder.to_owned(), desk, Arc::new(|| {}));
        walk_through(&mut clerk);
        clerk
    }

    fn walk_through(clerk: &mut Clerk) {
        while clerk.walk.is_some() {
            clerk.step();
        }
    }

    fn names(clerk: &Clerk) -> Vec<&str> {
        let mut names: Vec<_> = (0..clerk.names.len()).map(|at| clerk.names.name(at)).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn names_are_walked_again_when_a_list_opens_later() {
        let folder = tempfile::TempDir::new().unwrap();
        std::fs::write(folder.path().join("old"), "").unwrap();
        let mut clerk = clerk(folder.path());
        std::fs::rename(folder.path().join("old"), folder.path().join("new")).unwrap();
        for (age, want) in [(Duration::ZERO, "old"), (FRESH * 2, "new")] {
            clerk.walked = Instant::now().checked_sub(age);
            clerk.desk.papers().opened = true;
            // Something to answer, or it would wait for a question.
            clerk.desk.newest.fetch_add(1, Ordering::Relaxed);
            let (number, _) = clerk.next().unwrap().unwrap();
            clerk.search.number = number;
            walk_through(&mut clerk);
            assert_eq!(names(&clerk), [want]);
            assert_eq!(clerk.desk.papers().hits.rows.first().map(|(name, _)| name.as_str()), Some(want));
        }
    }

    #[test]
    fn an_older_question_is_dropped() {
        let folder = tempfile::TempDir::new().unwrap();
        std::fs::write(folder.path().join("a"), "").unwrap();
        let mut clerk = clerk(folder.path());
        clerk.search.best.clear();
        clerk.desk.newest.fetch_add(1, Ordering::Relaxed);
        clerk.look(0);
        assert_eq!(clerk.search.best, []);
        let told = clerk.desk.papers().hits.clone();
        clerk.names.push("b");
        clerk.tell();
        assert_eq!(clerk.desk.papers().hits, told);
    }

    #[test]
    fn a_closed_index_ends_its_thread() {
        let folder = tempfile::TempDir::new().unwrap();
        let mut clerk = clerk(folder.path());
        let index = Index { desk: Arc::clone(&clerk.desk) };
        drop(index);
        assert_eq!(clerk.next(), None);
    }
}
