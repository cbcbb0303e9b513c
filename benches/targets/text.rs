//! What a model says at length: prose with the marks that models make, and code.

/// Stands at the end of every text, in one piece and in no other place.
pub const END: &str = "zzENDzz";

#[derive(Clone, Copy, Debug)]
pub enum Text {
    /// Paragraphs of four lines, a list now and then.
    Prose,
    /// One block of code in a language that is highlighted.
    Code,
}

const PROSE: [&str; 10] = [
    "The total is computed twice, once by `cart::total` and once by the page that\n",
    "shows it, so that a discount of **ten percent** is taken from a sum that has\n",
    "been reduced already. Whoever calls it has to pass the sum as it was before,\n",
    "which no caller does; the test did not see it, as its discount is nothing.\n",
    "\n",
    "- the function takes the sum and the discount, and rounds at the end\n",
    "- the page asks the function, and computes nothing by itself any more\n",
    "\n",
    "After that the two agree for every basket that the test makes up by chance.\n",
    "\n",
];

const CODE: [&str; 10] = [
    "/// The sum of a basket, in cents, after the discount.\n",
    "pub fn total(items: &[Item], discount: Percent) -> Result<u64, Error> {\n",
    "    let mut sum = 0_u64;\n",
    "    for item in items.iter().filter(|item| !item.is_gift()) {\n",
    "        sum = sum.checked_add(item.price * u64::from(item.count)).ok_or(Error::Large)?;\n",
    "    }\n",
    "    let rest = 100 - discount.value(); // never more than a hundred\n",
    "    tracing::debug!(sum, \"the sum of {} items\", items.len());\n",
    "    Ok(sum * rest / 100)\n",
    "}\n",
];

impl Text {
    /// So many lines, and the end.
    pub fn lines(self, count: usize) -> Vec<String> {
        let lines = match self {
            Self::Prose => PROSE,
            Self::Code => CODE,
        };
        let mut pieces: Vec<String> =
            lines.iter().cycle().take(count).map(|line| (*line).to_owned()).collect();
        if let Self::Code = self {
            pieces.insert(0, "```rust\n".to_owned());
            pieces.push("```\n".to_owned());
        }
        pieces.push(format!("\n{END}\n"));
        pieces
    }

    /// So many words of prose, and the end.
    pub fn words(count: usize) -> Vec<String> {
        let text: String = PROSE.concat();
        let words: Vec<&str> = text.split_inclusive([' ', '\n']).collect();
        let mut pieces: Vec<String> =
            words.iter().cycle().take(count).map(|word| (*word).to_owned()).collect();
        pieces.push(format!("\n\n{END}\n"));
        pieces
    }
}
