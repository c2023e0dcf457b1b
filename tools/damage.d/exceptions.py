"""What cannot be known from a file alone: the only reasons for which a file may be called good although the judge reads something else in it."""

NOT_CHECKED = "a changed value cannot be noticed"


def lawful(kind, whole, judged, said, said_of_whole):
    """Why `good` is right all the same, or None. `whole`, `judged`: the judge's answers for the undamaged and the damaged file; `said`: ketcd's documents."""
    names_it = NOT_CHECKED in " ".join(said["notChecked"])
    if names_it and whole["names"] == judged["names"]:
        # Pages of bbolt and SQLite have no checksum. Where each key is still there at each of its revisions, a value that still decodes is a value, and
        # an entry of another bucket than `key` is one, too: of a lease, a member, a user. The first line of the verdict names what was not checked.
        return "a value without a checksum"
    if kind in ("bare", "database", "tar") and said["hashKv"] and said["hashKv"] == said_of_whole["hashKv"]:
        # Etcd's own hash, over every version of every key that it can still show, is that of the undamaged file. An older leaf has a version again that
        # was compacted, which etcd does not show; or the database of a data dir is as it was some entries ago, root and index included, and its log has
        # what came after, which etcd applies when it starts.
        return "etcd shows the same"
    before, after = whole.get("revisions") or [], judged.get("revisions") or []
    is_earlier = before[: len(after)] == after
    if kind == "bare" and names_it and is_earlier:
        # The newest leaf of the tree is as it was some transactions ago. That is the database of that moment, to its last byte: nothing in a database
        # without a checksum says that there was more. With a log (`database`) it is found.
        return "a database of an earlier moment"
    differing = [int(revision[:16], 16) for revision in set(before) ^ set(after)]
    if kind == "bare" and names_it and max(differing) <= (said["revisions"]["compacted"] or 0):
        # Below the last compaction each key has its newest version alone, if it was there, with holes between: a leaf that lacks one is a leaf as
        # compactions leave them, and no count of them is kept.
        return "a version below the compaction"
    if kind == "snapshot" and is_earlier:
        # The SHA-256 holds, so it was written anew, and so were the sums of both meta pages: they name a root of an earlier transaction whose pages are
        # all still there. No disk does that, and who does may as well write a database of his own.
        return "a root of an earlier moment, signed"
    return None
