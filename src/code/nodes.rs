//! What the nodes of each grammar are: which define something, under which names, and what belongs to them.

use tree_sitter::Node;

use super::language::Language;
use super::outline::{Kind, Piece, level};
use super::parse;

/// A string that can span lines.
pub(super) fn string(node: Node) -> bool {
    let kinds =
        ["string", "template_string", "string_literal", "raw_string_literal", "interpreted_string_literal"];
    kinds.contains(&node.kind())
}

/// A string that says what the function or class around it does, and moves with it.
pub(super) fn docstring(node: Node) -> bool {
    node.kind() == "string" && node.parent().is_some_and(|parent| parent.kind() == "expression_statement")
}

/// Stands before a definition and belongs to it.
pub(super) fn mark(node: Node) -> bool {
    matches!(node.kind(), "decorator" | "attribute_item")
}

/// The piece that a node is, without the comments before it.
pub(super) fn piece(language: Language, node: Node, text: &str) -> Piece {
    let start = node.start_byte();
    let mut piece = Piece {
        kind: Kind::Rest,
        names: Vec::new(),
        mark: String::new(),
        start,
        marks: start,
        head: start,
        core: start,
        end: node.end_byte(),
        body: None,
        members: Vec::new(),
    };
    let reader = Reader { language, text };
    match language {
        Language::Python => reader.python(node, &mut piece),
        Language::JavaScript | Language::TypeScript | Language::Tsx => reader.script(node, &mut piece),
        Language::Rust => reader.rust(node, &mut piece),
        Language::Go => reader.go(node, &mut piece),
        Language::Json | Language::Toml | Language::Braces => {}
    }
    piece
}

struct Reader<'a> {
    language: Language,
    text: &'a str,
}

impl Reader<'_> {
    fn text(&self, node: Node) -> String {
        self.text[node.byte_range()].split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn field(&self, node: Node, name: &str) -> Option<String> {
        node.child_by_field_name(name).map(|node| self.text(node))
    }

    fn set(&self, piece: &mut Piece, kind: Kind, names: impl IntoIterator<Item = String>) {
        piece.names = names.into_iter().collect();
        piece.kind = if piece.names.is_empty() { Kind::Rest } else { kind };
    }

    fn scope(&self, node: Node, piece: &mut Piece, names: impl IntoIterator<Item = String>) {
        self.set(piece, Kind::Scope, names);
        if let Some(body) = node.child_by_field_name("body") {
            piece.body = Some(body.start_byte());
            piece.members = level(self.language, body, self.text);
        }
    }

    /// Names that a node binds, by the kinds of its leaves.
    fn leaves(&self, node: Node, kinds: &[&str]) -> Vec<String> {
        let mut names = Vec::new();
        parse::walk(node, |node| {
            if kinds.contains(&node.kind()) {
                names.push(self.text(node));
            }
            true
        });
        names
    }

    fn python(&self, node: Node, piece: &mut Piece) {
        match node.kind() {
            "decorated_definition" => {
                if let Some(inner) = node.child_by_field_name("definition") {
                    self.python(inner, piece);
                    let marks = &self.text[node.start_byte()..inner.start_byte()];
                    piece.mark = marks.split_whitespace().collect::<Vec<_>>().join(" ");
                    (piece.head, piece.core) = (inner.start_byte(), inner.start_byte());
                }
            }
            "function_definition" => self.set(piece, Kind::Function, self.field(node, "name")),
            "class_definition" => self.scope(node, piece, self.field(node, "name")),
            "type_alias_statement" => {
                let left = node.child_by_field_name("left").or(node.named_child(0));
                let name = left.map(|left| self.text(left).split('[').next().unwrap_or_default().to_owned());
                self.set(piece, Kind::Value, name);
            }
            "expression_statement" => self.python_expression(node, piece),
            "import_statement" | "import_from_statement" | "future_import_statement" => {
                piece.kind = Kind::Import;
                piece.names = vec![self.text(node)];
            }
            "if_statement" if self.field(node, "condition").is_some_and(|asks| asks.contains("__name__")) => {
                self.set(piece, Kind::Guard, ["__main__".to_owned()]);
            }
            "if_statement" | "try_statement" | "with_statement" => {
                self.set(piece, Kind::Block, self.nested(node));
            }
            _ => {}
        }
    }

    fn python_expression(&self, node: Node, piece: &mut Piece) {
        let Some(inner) = node.named_child(0) else { return };
        match inner.kind() {
            "string" if node.prev_named_sibling().is_none_or(parse::comment) => piece.kind = Kind::Head,
            "assignment" => {
                let left = inner.child_by_field_name("left");
                let plain =
                    |left: &Node| matches!(left.kind(), "identifier" | "pattern_list" | "tuple_pattern");
                let names =
                    left.filter(plain).map_or_else(Vec::new, |left| self.leaves(left, &["identifier"]));
                self.set(piece, Kind::Value, names);
            }
            _ => {}
        }
    }

    /// What a compound statement defines, in no function or class.
    fn nested(&self, node: Node) -> Vec<String> {
        let mut names = Vec::new();
        parse::walk(node, |node| match node.kind() {
            "function_definition" | "class_definition" => {
                names.extend(self.field(node, "name").filter(|name| !names.contains(name)));
                false
            }
            _ => true,
        });
        names
    }

    fn script(&self, node: Node, piece: &mut Piece) {
        let mut cursor = node.walk();
        let own = node.children(&mut cursor).find(|child| child.kind() != "decorator");
        let own = own.map_or(node.start_byte(), |own| own.start_byte());
        (piece.head, piece.core) = (own, own);
        match node.kind() {
            "export_statement" => self.export(node, piece),
            "ambient_declaration" => {
                let mut cursor = node.walk();
                if let Some(inner) = node.named_children(&mut cursor).next() {
                    self.script(inner, piece);
                    piece.core = inner.start_byte();
                }
            }
            "function_declaration" | "generator_function_declaration" => {
                self.set(piece, Kind::Function, self.field(node, "name"));
            }
            "function_signature" | "method_signature" | "abstract_method_signature" => {
                self.method(node, piece);
                piece.mark.push_str(" signature");
            }
            "method_definition" => self.method(node, piece),
            "field_definition" | "public_field_definition" => {
                let name = self.field(node, "name").or_else(|| self.field(node, "property"));
                self.set(piece, Kind::Value, name);
            }
            "class_declaration" | "abstract_class_declaration" | "class" => {
                self.scope(node, piece, self.field(node, "name"));
            }
            "interface_declaration" | "type_alias_declaration" | "enum_declaration" => {
                self.set(piece, Kind::Value, self.field(node, "name"));
            }
            "internal_module" | "module" => self.scope(node, piece, self.field(node, "name")),
            "lexical_declaration" | "variable_declaration" => self.variables(node, piece),
            "import_statement" => {
                piece.kind = Kind::Import;
                piece.names = self.brought(node);
            }
            "expression_statement" => self.script_expression(node, piece),
            _ => {}
        }
    }

    fn export(&self, node: Node, piece: &mut Piece) {
        let declared = node.child_by_field_name("declaration");
        let value = node.child_by_field_name("value");
        if let Some(inner) = declared.or(value) {
            self.script(inner, piece);
            piece.core = inner.start_byte();
            let mut cursor = node.walk();
            let word = node.children(&mut cursor).find(|child| child.kind() == "export");
            piece.head = word.map_or(node.start_byte(), |word| word.start_byte());
            if piece.names.is_empty() {
                self.set(piece, Kind::Value, ["default".to_owned()]);
            }
        }
    }

    fn method(&self, node: Node, piece: &mut Piece) {
        self.set(piece, Kind::Function, self.field(node, "name"));
        let mut cursor = node.walk();
        let words = node.children(&mut cursor).map(|child| child.kind());
        piece.mark =
            words.filter(|kind| matches!(*kind, "get" | "set" | "static")).collect::<Vec<_>>().join(" ");
    }

    fn variables(&self, node: Node, piece: &mut Piece) {
        let mut cursor = node.walk();
        let mut names = Vec::new();
        let mut kind = Kind::Value;
        for one in node.named_children(&mut cursor).filter(|child| child.kind() == "variable_declarator") {
            let Some(name) = one.child_by_field_name("name") else { continue };
            let bound = ["identifier", "shorthand_property_identifier_pattern"];
            names.extend(self.leaves(name, &bound));
            match one.child_by_field_name("value").map(|value| (value.kind(), value)) {
                Some(("arrow_function" | "function_expression" | "generator_function", _)) => {
                    kind = Kind::Function;
                }
                Some(("call_expression", call))
                    if self.field(call, "function").as_deref() == Some("require") =>
                {
                    kind = Kind::Import;
                }
                _ => {}
            }
        }
        self.set(piece, kind, names);
    }

    /// Names that an import of a script binds.
    fn brought(&self, node: Node) -> Vec<String> {
        let mut names = Vec::new();
        parse::walk(node, |node| match node.kind() {
            "import_specifier" => {
                names.extend(self.field(node, "alias").or_else(|| self.field(node, "name")));
                false
            }
            "identifier" => {
                names.push(self.text(node));
                false
            }
            _ => true,
        });
        names
    }

    fn script_expression(&self, node: Node, piece: &mut Piece) {
        let Some(inner) = node.named_child(0) else { return };
        match inner.kind() {
            "internal_module" => self.scope(inner, piece, self.field(inner, "name")),
            "string" => piece.kind = Kind::Head,
            "assignment_expression" => {
                let right = inner.child_by_field_name("right").map_or("", |right| right.kind());
                let function = matches!(right, "arrow_function" | "function_expression");
                let kind = if function { Kind::Function } else { Kind::Value };
                self.set(piece, kind, self.field(inner, "left"));
            }
            _ => {}
        }
    }

    fn rust(&self, node: Node, piece: &mut Piece) {
        let name = || self.field(node, "name");
        match node.kind() {
            "function_item" | "function_signature_item" => self.set(piece, Kind::Function, name()),
            "struct_item" | "enum_item" | "union_item" | "const_item" | "static_item" | "type_item"
            | "associated_type" => self.set(piece, Kind::Value, name()),
            "macro_definition" => self.set(piece, Kind::Value, name().map(|name| format!("{name}!"))),
            "trait_item" | "mod_item" => self.scope(node, piece, name()),
            "impl_item" => {
                let of = self.field(node, "trait").map_or_else(String::new, |of| format!("{of} for "));
                let name = self.field(node, "type").map(|name| format!("impl {of}{name}"));
                self.scope(node, piece, name);
            }
            "use_declaration" | "extern_crate_declaration" => {
                piece.kind = Kind::Import;
                piece.names = self.used(node);
            }
            "inner_attribute_item" => piece.kind = Kind::Head,
            _ => {}
        }
        let mut cursor = node.walk();
        let seen = node.children(&mut cursor).find(|child| child.kind() == "visibility_modifier");
        if let Some(next) = seen.and_then(|seen| seen.next_sibling()) {
            piece.core = next.start_byte();
        }
    }

    /// Names that a `use` binds.
    fn used(&self, node: Node) -> Vec<String> {
        let mut names = Vec::new();
        parse::walk(node, |node| {
            let name = match node.kind() {
                "use_as_clause" => self.field(node, "alias"),
                "scoped_identifier" => self.field(node, "name"),
                "identifier" | "self" | "use_wildcard" => Some(self.text(node)),
                "visibility_modifier" => None,
                // Its path binds nothing; only what is in the list does.
                "scoped_use_list" => {
                    let path = self.field(node, "path").unwrap_or_default();
                    let list = node.child_by_field_name("list").map_or_else(Vec::new, |list| self.used(list));
                    let own = path.rsplit("::").next().unwrap_or_default().to_owned();
                    names.extend(list.into_iter().map(
                        |name| {
                            if name == "self" { own.clone() } else { name }
                        },
                    ));
                    None
                }
                _ => return true,
            };
            names.extend(name);
            false
        });
        names
    }

    fn go(&self, node: Node, piece: &mut Piece) {
        match node.kind() {
            "package_clause" => piece.kind = Kind::Head,
            "import_declaration" => {
                piece.kind = Kind::Import;
                piece.names = self.leaves(node, &["import_spec"]);
            }
            "function_declaration" => self.set(piece, Kind::Function, self.field(node, "name")),
            "method_declaration" => {
                let types = node.child_by_field_name("receiver");
                let of = types.and_then(|types| self.leaves(types, &["type_identifier"]).into_iter().next());
                let name = self.field(node, "name");
                self.set(piece, Kind::Function, of.zip(name).map(|(of, name)| format!("{of}.{name}")));
            }
            "type_declaration" | "const_declaration" | "var_declaration" => {
                self.set(piece, Kind::Value, self.specs(node));
            }
            _ => {}
        }
    }

    fn specs(&self, node: Node) -> Vec<String> {
        let mut names = Vec::new();
        parse::walk(node, |node| match node.kind() {
            "type_spec" | "type_alias" | "const_spec" | "var_spec" => {
                let mut cursor = node.walk();
                names.extend(node.children_by_field_name("name", &mut cursor).map(|name| self.text(name)));
                false
            }
            _ => true,
        });
        names.retain(|name| name != ",");
        names
    }
}
