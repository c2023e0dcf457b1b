"""What is mutated, and by which tests a mutant is to be caught: the quick ones of its crate, then those of a crate above that ask the same."""

from dataclasses import dataclass


@dataclass
class Area:
    """Files of one package. `tests`: what is given to `cargo test` and, behind `--`, to the tests, in the order in which they are tried."""

    files: list
    tests: list


def history(part, *answers):
    quick = "-p ketcd-history --lib"
    return Area([f"crates/history/src/{part}/*.rs"], [quick, f"-p ketcd-cluster --test answers -- {' '.join(answers)}"])


AREAS = {
    "diff": history("diff", "history::", "diff::"),
    "clock": history("clock", "history::", "clock::", "log_alone::"),
    "actor": history("actor", "history::", "audit::"),
    "cycle": Area(
        ["crates/scheduler/src/cycle/*.rs"],
        ["-p ketcd-scheduler --lib --test scheduler", "-p ketcd --test truth -- captures:: sampling:: releases::"],
    ),
    "recorder": Area(
        ["crates/store/src/recording/intake.rs", "crates/store/src/recording/segment.rs", "crates/store/src/recording/recorder/*.rs"],
        ["-p ketcd-store --lib -- recording::"],
    ),
}
