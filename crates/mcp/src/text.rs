//! Cuts text to a size, by lines.

/// A line that is longer is shortened.
const MAX_LINE_BYTES: usize = 2_000;

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TextPart {
    /// The lines, with the heading and the day that they stand below.
    pub text: String,
    /// How many lines there are.
    pub lines: usize,
    /// Behind the last line that is in it.
    pub end: usize,
    /// How many lines were shortened.
    pub shortened: usize,
}

/// Returns the lines of a text after the first `skip`, as many as have room.
pub(crate) fn part(text: &str, skip: usize, room: usize) -> TextPart {
    let lines: Vec<&str> = text.lines().collect();
    let (mut part, mut shortened) = (String::new(), 0);
    let skip = skip.min(lines.len());
    for heading in above(&lines, skip) {
        part.push_str(heading);
        part.push('\n');
    }
    let mut end = skip;
    for line in &lines[skip..] {
        let shown = short(line);
        if part.len() + shown.len() + 1 > room && end > skip {
            break;
        }
        shortened += usize::from(shown.len() != line.len());
        part.push_str(&shown);
        part.push('\n');
        end += 1;
    }
    TextPart { text: part, lines: lines.len(), end, shortened }
}

/// What lines after the first `skip` cannot be read without: the heading of a table, and the day.
fn above<'t>(lines: &[&'t str], skip: usize) -> Vec<&'t str> {
    let left_out = &lines[..skip];
    let is_heading = |line: &&&str| line.contains(char::is_uppercase) && !line.contains(char::is_lowercase) && line.len() < MAX_LINE_BYTES;
    let heading = left_out.first().filter(is_heading).filter(|line| !is_day(line));
    let day = left_out.iter().rev().find(|line| is_day(line));
    heading.into_iter().chain(day).copied().collect()
}

/// Whether a line is a day that times stand below: `2026-11-20 UTC`.
fn is_day(line: &str) -> bool {
    let is_date = |date: &str| date.len() == 10 && date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    line.strip_suffix(" UTC").is_some_and(is_date)
}

/// A line of no more bytes than have room.
fn short(line: &str) -> String {
    if line.len() <= MAX_LINE_BYTES {
        return line.to_owned();
    }
    let end = boundary(line, MAX_LINE_BYTES);
    format!("{} [… {} bytes left out]", &line[..end], line.len() - end)
}

/// The last place up to `at` at which a character begins.
pub(crate) fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_room_is_whole() {
        assert_eq!(part("a\nb\n", 0, 100), TextPart { text: "a\nb\n".to_owned(), lines: 2, end: 2, shortened: 0 });
        assert_eq!(part("", 5, 100), TextPart { text: String::new(), lines: 0, end: 0, shortened: 0 });
    }

    #[test]
    fn pages_are_all_of_it() {
        let text: String = (0..500).map(|line| format!("line {line} {}\n", "x".repeat(line % 70))).collect();
        let (mut skip, mut read) = (0, String::new());
        while skip < 500 {
            let page = part(&text, skip, 1_000);
            assert!(page.text.len() <= 1_000 && page.end > skip);
            read.push_str(&page.text);
            skip = page.end;
        }
        assert_eq!(read, text);
    }

    #[test]
    fn a_page_has_its_heading_and_its_day() {
        let text = "NAME   AGE\na  1\nb  2\n";
        assert_eq!(part(text, 2, 100).text, "NAME   AGE\nb  2\n");
        let text = "2026-11-20 UTC\n22:16 a\n2026-11-21 UTC\n00:01 b\n00:02 c\n";
        assert_eq!(part(text, 4, 100).text, "2026-11-21 UTC\n00:02 c\n");
    }

    #[test]
    fn a_long_line_is_shortened() {
        let line = "ä".repeat(3_000);
        let page = part(&line, 0, 3_000);
        assert_eq!(page.shortened, 1);
        assert!(page.text.len() < 2_100 && page.text.ends_with("bytes left out]\n"), "{}", page.text);
    }
}
