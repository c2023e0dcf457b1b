//! Words of command lines that messages show to be copied into a shell.

/// Returns a word as every POSIX shell takes it, in one line: plain words as they are, others in single quotes, where nothing is expanded. What
/// cannot stand in a line (control characters, bytes that are not text, invisible characters) is written by its bytes, for `printf`; so is a
/// backslash, which fish reads in single quotes too.
///
/// Only newlines at the end of a word are lost, which a shell drops from what `printf` writes.
pub fn quoted(word: &[u8]) -> String {
    match std::str::from_utf8(word) {
        Ok(text) if !text.is_empty() && !text.starts_with('=') && text.bytes().all(is_plain) => text.to_owned(),
        Ok(text) if text.chars().all(is_seen) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => {
            let bytes = word
                .iter()
                .map(|&byte| if is_plain(byte) && byte != b'%' { char::from(byte).to_string() } else { format!("\\{byte:03o}") });
            format!("\"$(printf '{}')\"", bytes.collect::<String>())
        }
    }
}

/// Whether a byte means itself wherever it stands in a word but at its beginning.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-./:@%+=,".contains(&byte)
}

/// Whether a reader sees the character, in its place, and shells read it alike in single quotes.
fn is_seen(c: char) -> bool {
    c == ' ' || c.is_ascii_graphic() && c != '\\' || c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn words_are_quoted_where_they_must_be() {
        for (word, wanted) in [
            ("/registry/pods/lab/a", "/registry/pods/lab/a"),
            ("", "''"),
            ("a b'c", r"'a b'\''c'"),
            ("$(touch x)", "'$(touch x)'"),
            ("~root", "'~root'"),
            ("=ls", "'=ls'"),
            ("März", "'März'"),
            ("a\nb!", r#""$(printf 'a\012b\041')""#),
            (r"a\'b", r#""$(printf 'a\134\047b')""#),
            ("50%\u{202e}", r#""$(printf '50\045\342\200\256')""#),
        ] {
            assert_eq!(quoted(word.as_bytes()), wanted);
        }
        assert_eq!(quoted(b"/a\xff"), r#""$(printf '/a\377')""#);
    }

    #[test]
    fn a_shell_gives_the_word_back() {
        let words: [&[u8]; 9] = [
            b"a'b\"c`id`$(id)${IFS}\\;|&<>*?[x]{a,b}~!#",
            b"a\nb\tc\x1b[31m\x07",
            "\u{202e}a\u{a0}b".as_bytes(),
            b"\xff\xfe'%s\\n",
            b"'",
            b"''''",
            b"\\",
            b"-n",
            b"!!",
        ];
        for word in words {
            let script = format!("printf %s {}", quoted(word));
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (word, &b""[..]), "{script}");
        }
    }
}
