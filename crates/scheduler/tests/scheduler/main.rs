//! The library as its users see it: a plugin of their own, the queue, objects that cannot be read; and where releases may be compared.

mod new_plugin;
mod releases_compared;
mod unreadable;
mod waiting_pods;
