//! What this module is held to, by table and over generated input.

use super::*;

fn said(page: &str, form: Form) -> String {
    read(page, form, &"https://example.org/docs/page.html".parse().expect("an address")).text
}

const PAGE: &str = r##"<!doctype html><html><head><title> The  &lt;Guide&gt; </title>
<style>p > a { color: red }</style><script>if (a < b) document.write("<p>no</p>")</script></head>
<body><nav><a href="/">Home</a> <a href="#top">Top</a></nav>
<h1>The <em>Guide</em></h1><p>Use   <code>make &amp;&amp; run</code>,<br>then see <a href="more.html?a=1&amp;b=2">more
of it</a>.</p>
<ul><li>one<li>two<ol start=3><li>deep<p>and on</p></li><li><a href=x>y</a></li></ol></li></ul>
<pre><code class="rust">fn main() {
    let a = 1 &lt; 2;
}
</code></pre>
<blockquote>said<p>again</blockquote>
<table><tr><th>Name<th>Kind</tr><tr><td>a</td><td><p>b</p></td></tr></table>
<img src=logo.png alt="the logo"><img src=x><svg><text>gone</text></svg><!-- <p>gone</p> -->
2 < 3 &unknown; &#8364;&#x21;</body></html>"##;

#[test]
fn a_page_keeps_headings_links_lists_and_code() {
    insta::assert_snapshot!(said(PAGE, Form::Markdown));
}

#[test]
fn plain_text_has_no_marks() {
    insta::assert_snapshot!(said(PAGE, Form::Text));
}

#[test]
fn the_title_is_taken() {
    let base = "https://example.org/".parse().expect("an address");
    assert_eq!(read(PAGE, Form::Text, &base).title.as_deref(), Some("The <Guide>"));
    assert_eq!(read("<p>x", Form::Text, &base).title, None);
}

#[test]
fn broken_pages_keep_their_words() {
    let table = [
        ("<p>a<p>b</div></div></ul></li></pre>", "a\n\nb"),
        ("a <b", "a"),
        ("a < b > c", "a < b > c"),
        ("<a href=\"x>y</a> z</p>", "[y](https://example.org/docs/x) z"),
        ("<script>x", ""),
        ("x<!-- y", "x"),
        ("<ul></ul><li>x", "- x"),
        ("<a href='javascript:alert(1)'>x</a>", "x"),
        ("<a href='https://example.org/'></a>x", "x"),
        ("</p\u{2028}é=\"'>x", "x"),
        ("<svg><svg/></svg>x", "x"),
    ];
    for (page, want) in table {
        assert_eq!(said(page, Form::Markdown), want, "{page}");
    }
}

#[test]
fn a_hostile_page_takes_time_in_proportion() {
    for part in
        ["<ul><li>", "<a href=x>", "<blockquote>x", "<!--", "<svg>", "<", "&", "<a \"", "<pre>\n", "<script>"]
    {
        let page = part.repeat(60_000);
        assert!(said(&page, Form::Markdown).len() < 40 * page.len());
    }
}

#[test]
fn a_page_cannot_make_much_of_little() {
    let base = format!("https://example.org/{}", "x".repeat(4_000)).parse().expect("an address");
    let read = read(&"<a href=>y</a> ".repeat(60_000), Form::Markdown, &base);
    assert!(read.text.len() < MOST + 5_000, "{}", read.text.len());
    let open = super::read(&format!("<title>{}", "word ".repeat(60_000)), Form::Markdown, &base);
    assert_eq!(open.title.map(|title| title.len()), Some(TITLE));
}

proptest::proptest! {
    #[test]
    fn no_page_is_too_odd(page in r#"(</?(p|a href=|li|ul|pre|td|tr|script|svg|h1|é|code|img alt=)?[ "'=/]{0,2}>?|<!--|-->|&[a-z#0-9]{0,4};?|[a-zé \n]{0,5}){0,25}"#) {
        said(&page, Form::Markdown);
        said(&page, Form::Text);
    }
}
