//! Foreign text made safe, measured and wrapped; Markdown, code and diffs as lines. Pure.
