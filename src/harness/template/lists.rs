//! What lists a text may make: no larger than it is long.
//!
//! A list that holds another one twice, which holds another one twice, and so on, is small, and it takes
//! for ever to compare two of them: the engine's fuel pays for the outermost items only. So a list that
//! has a name and was made by the text goes into no other one that gets a name.

use std::collections::BTreeSet;

use minijinja::machinery::ast::{BinOpKind, Call, CallArg, Expr, Stmt};
use minijinja::machinery::parse;
use minijinja::value::ValueKind;

/// Sums of what may be lists in one text. The engine joins such sums as one only when they are more.
const MOST_SUMS: usize = 30;

/// Filters whose value is a text or a number.
#[rustfmt::skip]
const PLAIN: [&str; 24] = [
    "abs", "bool", "capitalize", "chomp", "count", "e", "escape", "float", "format", "indent", "int", "join",
    "length", "lower", "numbered", "quote", "replace", "round", "string", "title", "tojson", "trim", "upper", "pprint",
];

/// Filters that only choose from what they are given.
#[rustfmt::skip]
const CHOOSING: [&str; 16] = [
    "attr", "d", "default", "first", "last", "list", "max", "min", "reject", "rejectattr", "reverse", "safe", "select",
    "selectattr", "sort", "unique",
];

/// Filters that put what they are told into each item.
const FILLING: [&str; 6] = ["batch", "chain", "groupby", "map", "slice", "zip"];

/// What is wrong with the lists of a text, and in which line. A text that cannot be parsed has another fault.
pub(super) fn fault(text: &str) -> Option<(usize, String)> {
    let parsed = parse(text, "", Default::default()).ok()?;
    let stmts = statements(&parsed);
    let mut made = Made(BTreeSet::new());
    // Until no name is new: a loop may use one ahead of where it is made.
    while stmts.iter().filter(|stmt| made.learn(stmt)).count() > 0 {}
    let mut sums = 0;
    let mut open: Vec<(&Expr<'_>, Use)> = stmts.iter().flat_map(|stmt| expressions(stmt)).collect();
    while let Some((expr, used)) = open.pop() {
        let line = expr.span().start_line as usize;
        if used == Use::Kept && made.multiplies(expr) || made.repeats(expr) {
            let what = "the template keeps a list that holds another one which it made; write it as one list";
            return Some((line, what.to_owned()));
        }
        sums += usize::from(is_sum(expr));
        if sums > MOST_SUMS {
            return Some((line, format!("the template has more than {MOST_SUMS} sums; take fewer")));
        }
        // A macro gives a name to what it is called with.
        let used = if matches!(expr, Expr::Call(_)) { Use::Kept } else { used };
        open.extend(below(expr).into_iter().map(|inner| (inner, used)));
    }
    None
}

/// What becomes of the value of an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// It has a name then.
    Kept,
    /// It is shown, or only asked.
    Gone,
}

/// Names that may stand for lists which the text made.
struct Made<'a>(BTreeSet<&'a str>);

impl<'a> Made<'a> {
    /// Whether the statement gives such a list a name that is new here.
    fn learn(&mut self, stmt: &'a Stmt<'a>) -> bool {
        let before = self.0.len();
        match stmt {
            Stmt::Set(set) => self.name(&set.target, self.makes(&set.expr)),
            Stmt::SetBlock(set) => self.name(&set.target, set.filter.is_some()),
            Stmt::WithBlock(with) => {
                with.assignments.iter().for_each(|(name, expr)| self.name(name, self.makes(expr)));
            }
            Stmt::ForLoop(each) => {
                self.name(&each.target, each.recursive || self.makes_within(&each.iter));
            }
            // Whatever it is called with.
            Stmt::Macro(it) => it.args.iter().for_each(|name| self.name(name, true)),
            Stmt::CallBlock(call) => call.macro_decl.args.iter().for_each(|name| self.name(name, true)),
            _ => {}
        }
        self.0.len() > before
    }

    fn name(&mut self, target: &'a Expr<'a>, is_made: bool) {
        let names = |expr: &'a Expr<'a>| match expr {
            Expr::Var(var) => Some(var.id),
            _ => None,
        };
        if is_made {
            self.0.extend(names(target).into_iter().chain(below(target).into_iter().filter_map(names)));
        }
    }

    /// The value may be a list that has a name, or hold one.
    fn holds(&self, expr: &Expr<'_>) -> bool {
        any(expr, |expr| matches!(expr, Expr::Var(var) if self.0.contains(var.id)))
    }

    /// The same, or one that is made here.
    fn makes(&self, expr: &Expr<'_>) -> bool {
        any(expr, |expr| match expr {
            Expr::Var(var) => self.0.contains(var.id),
            Expr::Const(it) => !is_plain(it.value.kind()),
            Expr::List(_) | Expr::Tuple(_) | Expr::Map(_) => true,
            Expr::Filter(it) => !PLAIN.contains(&it.name) && !CHOOSING.contains(&it.name),
            Expr::Call(call) => named(call) == Some("dict") || named(call) == Some("range"),
            expr => is_sum(expr),
        })
    }

    /// One of its items may be such a list.
    fn makes_within(&self, expr: &Expr<'_>) -> bool {
        match expr {
            Expr::List(list) => list.items.iter().any(|item| self.makes(item)),
            Expr::Tuple(list) => list.items.iter().any(|item| self.makes(item)),
            Expr::Filter(it) if ["lines", "split"].contains(&it.name) => false,
            Expr::Call(call) if named(call) == Some("range") => false,
            expr => self.makes(expr),
        }
    }

    /// A list is repeated, which costs nothing until it is looked at.
    fn repeats(&self, expr: &Expr<'_>) -> bool {
        match expr {
            Expr::BinOp(it) if matches!(it.op, BinOpKind::Mul) => {
                self.makes(&it.left) || self.makes(&it.right)
            }
            _ => false,
        }
    }

    /// A list holds one that has a name, or is a sum of such.
    fn multiplies(&self, expr: &Expr<'_>) -> bool {
        match expr {
            Expr::List(list) => list.items.iter().any(|item| self.holds(item)),
            Expr::Tuple(list) => list.items.iter().any(|item| self.holds(item)),
            Expr::Map(map) => map.keys.iter().chain(&map.values).any(|item| self.holds(item)),
            Expr::Call(call) if named(call) == Some("dict") => given(&call.args).any(|arg| self.holds(arg)),
            Expr::Filter(it) if FILLING.contains(&it.name) => given(&it.args).any(|arg| self.holds(arg)),
            Expr::BinOp(it) if is_sum(expr) => self.holds(&it.left) || self.holds(&it.right),
            _ => false,
        }
    }
}

/// A sum whose sides may both be lists.
fn is_sum(expr: &Expr<'_>) -> bool {
    let no_list = |side: &Expr<'_>| match side {
        Expr::Const(it) => is_plain(it.value.kind()),
        Expr::Filter(it) => PLAIN.contains(&it.name),
        Expr::BinOp(it) => !passes(it.op),
        Expr::UnaryOp(_) | Expr::Compare(_) | Expr::Test(_) => true,
        _ => false,
    };
    let Expr::BinOp(it) = expr else { return false };
    matches!(it.op, BinOpKind::Add) && !no_list(&it.left) && !no_list(&it.right)
}

fn is_plain(kind: ValueKind) -> bool {
    !matches!(kind, ValueKind::Seq | ValueKind::Map | ValueKind::Iterable | ValueKind::Plain)
}

/// The value of such an operation may hold what its sides hold.
fn passes(op: BinOpKind) -> bool {
    matches!(op, BinOpKind::Add | BinOpKind::Mul | BinOpKind::ScAnd | BinOpKind::ScOr)
}

fn named<'a>(call: &Call<'a>) -> Option<&'a str> {
    match &call.expr {
        Expr::Var(var) => Some(var.id),
        _ => None,
    }
}

/// Whether this is so of the expression or of one whose value its own may hold. Texts nest deep, so
/// nothing here calls itself.
fn any(expr: &Expr<'_>, is: impl Fn(&Expr<'_>) -> bool) -> bool {
    let mut open = vec![expr];
    while let Some(expr) = open.pop() {
        if is(expr) {
            return true;
        }
        match expr {
            Expr::UnaryOp(_) | Expr::Compare(_) | Expr::Test(_) => {}
            Expr::BinOp(it) if !passes(it.op) => {}
            Expr::Filter(it) if PLAIN.contains(&it.name) => {}
            Expr::Filter(it) if CHOOSING.contains(&it.name) && !["d", "default"].contains(&it.name) => {
                open.extend(&it.expr);
            }
            Expr::IfExpr(it) => open.extend([&it.true_expr].into_iter().chain(&it.false_expr)),
            Expr::Slice(it) => open.push(&it.expr),
            Expr::GetItem(it) => open.push(&it.expr),
            // Other functions and macros give texts.
            Expr::Call(call) if named(call) != Some("dict") => {}
            expr => open.extend(below(expr)),
        }
    }
    false
}

/// The expressions within one.
fn below<'a>(expr: &'a Expr<'a>) -> Vec<&'a Expr<'a>> {
    match expr {
        Expr::Var(_) | Expr::Const(_) => Vec::new(),
        Expr::Slice(it) => [&it.expr].into_iter().chain(&it.start).chain(&it.stop).chain(&it.step).collect(),
        Expr::UnaryOp(it) => vec![&it.expr],
        Expr::BinOp(it) => vec![&it.left, &it.right],
        Expr::Compare(it) => [&it.expr].into_iter().chain(it.ops.iter().map(|op| &op.expr)).collect(),
        Expr::IfExpr(it) => [&it.test_expr, &it.true_expr].into_iter().chain(&it.false_expr).collect(),
        Expr::Filter(it) => it.expr.iter().chain(given(&it.args)).collect(),
        Expr::Test(it) => [&it.expr].into_iter().chain(given(&it.args)).collect(),
        Expr::GetAttr(it) => vec![&it.expr],
        Expr::GetItem(it) => vec![&it.expr, &it.subscript_expr],
        Expr::Call(it) => [&it.expr].into_iter().chain(given(&it.args)).collect(),
        Expr::List(it) => it.items.iter().collect(),
        Expr::Tuple(it) => it.items.iter().collect(),
        Expr::Map(it) => it.keys.iter().chain(&it.values).collect(),
    }
}

fn given<'a>(args: &'a [CallArg<'a>]) -> impl Iterator<Item = &'a Expr<'a>> {
    args.iter().map(|arg| match arg {
        CallArg::Pos(expr)
        | CallArg::Kwarg(_, expr)
        | CallArg::PosSplat(expr)
        | CallArg::KwargSplat(expr) => expr,
    })
}

/// All statements, those within others too.
fn statements<'a>(whole: &'a Stmt<'a>) -> Vec<&'a Stmt<'a>> {
    let (mut all, mut open) = (Vec::new(), vec![whole]);
    while let Some(stmt) = open.pop() {
        all.push(stmt);
        match stmt {
            Stmt::Template(it) => open.extend(&it.children),
            Stmt::ForLoop(it) => open.extend(it.body.iter().chain(&it.else_body)),
            Stmt::IfCond(it) => open.extend(it.true_body.iter().chain(&it.false_body)),
            Stmt::WithBlock(it) => open.extend(&it.body),
            Stmt::SetBlock(it) => open.extend(&it.body),
            Stmt::AutoEscape(it) => open.extend(&it.body),
            Stmt::FilterBlock(it) => open.extend(&it.body),
            Stmt::Macro(it) => open.extend(&it.body),
            Stmt::CallBlock(it) => open.extend(&it.macro_decl.body),
            Stmt::EmitExpr(_) | Stmt::EmitRaw(_) | Stmt::Set(_) | Stmt::Do(_) => {}
        }
    }
    all
}

/// The expressions that a statement itself has.
fn expressions<'a>(stmt: &'a Stmt<'a>) -> Vec<(&'a Expr<'a>, Use)> {
    let kept: Vec<&Expr<'_>> = match stmt {
        Stmt::ForLoop(it) => vec![&it.iter],
        Stmt::WithBlock(it) => it.assignments.iter().map(|(_, expr)| expr).collect(),
        Stmt::Set(it) => vec![&it.expr],
        Stmt::SetBlock(it) => it.filter.iter().collect(),
        Stmt::Macro(it) => it.defaults.iter().collect(),
        Stmt::CallBlock(it) => given(&it.call.args).chain(&it.macro_decl.defaults).collect(),
        Stmt::Do(it) => given(&it.call.args).collect(),
        _ => Vec::new(),
    };
    let gone: Vec<&Expr<'_>> = match stmt {
        Stmt::EmitExpr(it) => vec![&it.expr],
        Stmt::ForLoop(it) => it.filter_expr.iter().collect(),
        Stmt::IfCond(it) => vec![&it.expr],
        Stmt::AutoEscape(it) => vec![&it.enabled],
        Stmt::FilterBlock(it) => vec![&it.filter],
        _ => Vec::new(),
    };
    let with = |used| move |expr| (expr, used);
    kept.into_iter().map(with(Use::Kept)).chain(gone.into_iter().map(with(Use::Gone))).collect()
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn a_list_that_has_a_name_goes_into_no_other() {
        for text in [
            "{% set a = [1] %}{% set b = [a, a] %}",
            "{% set a = (1, 2) %}{% set a = a, a %}",
            "{% set a = {'x': 1} %}{% set b = {'y': a} %}",
            "{% set a = [1] %}{% set a = dict(x=a, y=a) %}",
            "{% set a = [1] %}{% set a = a + a %}",
            "{% set a = tools + tools %}{% set a = a + a %}",
            "{% set a = [1] %}{% set a = a * 2 %}",
            "{% set a = [1] * 100000000 %}",
            "{% set a = tools | batch(1) %}{% set a = a | zip(a) %}",
            "{% set a = [1] %}{% set a = [1, 2] | map('default', a) %}",
            "{% set a = [1] %}{% set b = [a[0:1] if cwd else 1] %}",
            "{% set a, b = [1], 2 %}{% set c = [b] %}",
            "{% with a = [1], b = [a | sort] %}{% endwith %}",
            "{% for a in [[1], [2]] %}{% for b in [a, a] %}{% endfor %}{% endfor %}",
            "{% for a in [1] recursive %}{{ loop([a, a]) }}{% endfor %}",
            "{% for _ in tools %}{% set c = [b or 2] %}{% set b = [1] %}{% endfor %}",
            "{% macro f(a) %}{{ f([a, a]) }}{% endmacro %}{{ f(1) }}",
            "{% set a %}x{% endset %}{% set b = [a] %}{% call f([b]) %}x{% endcall %}",
        ] {
            assert!(fault(text).is_some(), "{text}");
        }
        let sums = vec!["tools"; 40].join(" + ");
        assert_eq!(fault(&format!("\n{{{{ {sums} }}}}")).unwrap().0, 2);
    }

    #[test]
    fn what_texts_do_with_lists_is_left_to_them() {
        for text in [
            "{% set a = ['x', 'y'] %}{{ 'x' in a }}{{ a | join(' ') }}{{ [a | join, a | length] }}",
            "{% for one in tools %}{{ [one.name, one.about] | select | join(': ') }}{% endfor %}",
            "{% for one in tools | selectattr('wire') | sort(attribute='name') %}{{ [one] }}{% endfor %}",
            "{% for one in ['a', 'b'] %}{{ [one, one] | join }}{% endfor %}",
            "{% for line in out.text | lines %}{{ [line, loop.index0 + 1] | join }}{% endfor %}",
            "{% set rows = [[1, [2, 3]], [4, 5]] %}{% for row in rows %}{{ row | join }}{% endfor %}",
            "{% set n = (out.data.from or 1) %}{{ n + 1 }}{{ n * 2 }}{{ [n, 0] | max }}{{ '-' * n }}",
            "{% set found = entries | reject('in', ['a']) | first %}{{ [found] }}",
            "{% set a = [1] %}{{ {'x': a} | tojson }}{{ [a, a] == [a] }}",
            "{% set a = [1] %}{{ a == [1] }}{{ not a }}{{ a ~ a }}{{ a is defined }}",
        ] {
            assert_eq!(fault(text), None, "{text}");
        }
    }
}
