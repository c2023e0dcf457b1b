//! A rehearsal as a page of Markdown: the way as a checklist, then the forecasts by chapter. Names come from data, so none of them is markup.

use std::io;

use ketcd_cluster::rehearse::{Chapter, Forecast, Rehearsal, Step};

use crate::style::StyledWrite;
use crate::visible::visible;
use crate::words::grouped;
use crate::words::rehearsal::{affected_name, affected_says, chapter_title, decision, distribution_words, source};

/// How many objects of a forecast are listed.
const MAX_OBJECTS_LISTED: usize = 50;

/// Writes the page.
///
/// # Errors
/// The stream's.
pub fn write_markdown(of: &Rehearsal, out: &mut dyn StyledWrite) -> io::Result<()> {
    let name = of.backup().map_or("the backup", |backup| &backup.name);
    writeln!(out, "# Restore of {}\n\n{}.", escaped(name), escaped(&decision(of)))?;
    if of.is_of_one_cluster != Some(false) {
        write_way(of, out)?;
        for chapter in Chapter::ALL {
            write_chapter(of, chapter, out)?;
        }
    }
    if of.sources.len() > 1 {
        writeln!(out, "\n## Sources, the best to restore first\n")?;
        of.sources.iter().enumerate().try_for_each(|(place, one)| writeln!(out, "{}. {}", place + 1, escaped(&source(one))))?;
    }
    if !of.not_known.is_empty() {
        writeln!(out, "\n## What is not known\n")?;
        of.not_known.iter().try_for_each(|phrase| writeln!(out, "- {}", escaped(phrase)))?;
    }
    Ok(())
}

/// The way: each step to be ticked off, with its commands.
fn write_way(of: &Rehearsal, out: &mut dyn StyledWrite) -> io::Result<()> {
    let way = &of.way;
    if way.steps.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n## The way: {}\n", distribution_words(way.distribution))?;
    let bump = way.bump.map(|bump| format!("Revisions are raised by {}, so that no watcher sees them go back.", grouped(bump)));
    let evidence = (!way.evidence.is_empty()).then(|| format!("{}.", escaped(&way.evidence)));
    let notes: Vec<String> = evidence.into_iter().chain(bump).collect();
    if !notes.is_empty() {
        writeln!(out, "{}\n", notes.join("\n"))?;
    }
    way.steps.iter().try_for_each(|step| write_step(step, out))
}

fn write_step(of: &Step, out: &mut dyn StyledWrite) -> io::Result<()> {
    let place = if of.place.is_empty() { String::new() } else { format!("**{}**: ", escaped(&of.place)) };
    writeln!(out, "- [ ] {place}{}", escaped(&of.says))?;
    write_commands(&of.commands, "      ", out)
}

fn write_chapter(of: &Rehearsal, chapter: Chapter, out: &mut dyn StyledWrite) -> io::Result<()> {
    let mut forecasts = of.chapter(chapter).peekable();
    if forecasts.peek().is_none() {
        return Ok(());
    }
    writeln!(out, "\n## {}\n", chapter_title(chapter))?;
    forecasts.try_for_each(|forecast| write_forecast(forecast, out))
}

fn write_forecast(of: &Forecast, out: &mut dyn StyledWrite) -> io::Result<()> {
    writeln!(out, "- **{}**: {}", of.weight, escaped(&of.says))?;
    for affected in of.affected.iter().take(MAX_OBJECTS_LISTED) {
        let says = affected_says(affected).join(", ");
        let says = if says.is_empty() { says } else { format!(": {}", escaped(&says)) };
        writeln!(out, "  - {}{says}", code(&affected_name(affected)))?;
    }
    let more = of.count.saturating_sub(of.affected.len().min(MAX_OBJECTS_LISTED));
    if more > 0 {
        writeln!(out, "  - and {} more", grouped(more))?;
    }
    write_commands(&of.commands, "  ", out)
}

/// Commands in a block of their own, which no line of theirs can end.
fn write_commands(commands: &[String], indent: &str, out: &mut dyn StyledWrite) -> io::Result<()> {
    if commands.is_empty() {
        return Ok(());
    }
    let longest = commands.iter().map(|command| longest_run(command)).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    writeln!(out, "\n{indent}{fence}sh")?;
    commands.iter().try_for_each(|command| writeln!(out, "{indent}{}", visible(command)))?;
    writeln!(out, "{indent}{fence}\n")
}

/// Text of data as code within a line.
fn code(text: &str) -> String {
    let text = visible(text);
    let fence = "`".repeat(longest_run(&text) + 1);
    // A backtick at an end would join the fence.
    let space = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// How many backticks follow each other at most.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Text of data that is shown as it is: on one line, no character of it markup.
fn escaped(text: &str) -> String {
    const MARKUP_CHARS: &str = "\\`*_[]<>#|~&$";
    let text = visible(text);
    let mut shown = String::with_capacity(text.len() + 8);
    for (at, c) in text.char_indices() {
        // At its beginning a line may be a list, a quotation or a rule.
        let begins_block = at == 0 && "-+=".contains(c);
        // A forge makes a link of what looks like an address.
        let is_address = c == ':' && text[at..].starts_with("://");
        if MARKUP_CHARS.contains(c) || begins_block || is_address {
            shown.push('\\');
        }
        shown.push(c);
    }
    let digits = shown.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 && shown[digits..].starts_with(['.', ')']) {
        shown.insert(digits, '\\');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{hostile, rehearsal};
    use super::*;
    use crate::style::plain;

    #[test]
    fn the_way_is_a_checklist() {
        let page = plain(|out| write_markdown(&rehearsal(), out));
        let wanted = "\
## The way: kubeadm

the static pod etcd-etcd-1 has kubeadm's annotations.
Revisions are raised by 1,000,000,000, so that no watcher sees them go back.

- [ ] **on each control-plane node**: Stop the API servers

      ```sh
      mv /etc/kubernetes/manifests/kube-apiserver.yaml /root/
      ```

- [ ] **on etcd-1**: Restore the data

      ```sh
      etcdutl snapshot restore snapshot.db --bump-revision 1000000000 --mark-compacted
      ```

- [ ] Look at what came back

## What is lost

- **high**: 3 namespaces are not in the backup
  - `ns/shop`
  - `ns/lab`
  - `ns/ci`

  ```sh
  ketcd -f etcd-2 extract ns/shop
  ```
";
        assert!(page.starts_with("# Restore of snapshot.db\n\nRESTORE of snapshot.db (r441846, 26 h old) over"), "{page}");
        assert!(page.contains(wanted), "{page}");
        assert!(page.contains("\n1. member etcd-2 (r512003): whole, lacks nothing\n"), "{page}");
        assert!(page.ends_with("## What is not known\n\n- what containers run: no kubelet was asked\n"), "{page}");
    }

    #[test]
    fn data_is_no_markup() {
        let page = plain(|out| write_markdown(&hostile(), out));
        assert!(!page.contains('\x1b') && !page.contains("<script>|**b**\n"), "{page}");
        assert_eq!(page.lines().filter(|line| line.starts_with("# ")).count(), 1, "{page}");
        assert_eq!(page.lines().filter(|line| line.trim_start().starts_with("- [ ]")).count(), 3, "{page}");
        // The block of a command that holds a fence has a longer one.
        assert_eq!(page.matches("````").count(), 2, "{page}");
    }

    #[test]
    fn marks_are_escaped_where_they_would_be_markup() {
        for (text, wanted) in [
            ("web-0 is gone", "web-0 is gone"),
            ("- a", "\\- a"),
            ("1. a", "1\\. a"),
            ("a_b*c", "a\\_b\\*c"),
            ("[x](https://evil)", "\\[x\\](https\\://evil)"),
        ] {
            assert_eq!(escaped(text), wanted);
        }
        assert_eq!((code("a`b"), code("`a"), code("a")), ("``a`b``".to_owned(), "`` `a ``".to_owned(), "`a`".to_owned()));
    }
}
