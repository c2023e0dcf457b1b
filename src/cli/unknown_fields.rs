//! Fields that our tables do not have: counted over a command, or shown one by one.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::kube::{Decoded, UnknownField};

use super::output::note;

/// Counts; one for all that a command decodes for its output.
pub struct UnknownFields {
    shows: bool,
    fields: AtomicUsize,
    objects: AtomicUsize,
}

impl UnknownFields {
    /// A count that stands at none; `shows` is `--unknown`.
    pub fn new(shows: bool) -> Self {
        Self { shows, fields: AtomicUsize::new(0), objects: AtomicUsize::new(0) }
    }

    /// The fields of one object; `name` is its key.
    pub fn add(&self, name: &[u8], fields: &[UnknownField]) {
        if fields.is_empty() {
            return;
        }
        self.fields.fetch_add(fields.len(), Ordering::Relaxed);
        self.objects.fetch_add(1, Ordering::Relaxed);
        if self.shows {
            let lead = if name.is_empty() { String::new() } else { format!("{}: ", String::from_utf8_lossy(name)) };
            fields.iter().for_each(|field| note(&format!("{lead}{field}")));
        }
    }

    /// As [`UnknownFields::add`], and hands what was decoded on.
    pub fn pass(&self, name: &[u8], decoded: Decoded) -> Decoded {
        self.add(name, &decoded.unknown_fields);
        decoded
    }

    /// Says at the end how many there were, if they were not shown.
    pub fn report(&self) {
        let (fields, objects) = (self.fields.load(Ordering::Relaxed), self.objects.load(Ordering::Relaxed));
        if fields > 0 && !self.shows {
            let (s, in_objects) =
                (if fields == 1 { "" } else { "s" }, if objects == 1 { "one object".to_owned() } else { format!("{objects} objects") });
            note(&format!("{fields} unknown field{s} in {in_objects} left out; --unknown shows them"));
        }
    }
}
