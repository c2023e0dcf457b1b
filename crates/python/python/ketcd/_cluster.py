"""One cluster, read from files and asked. Each method is a command of `ketcd`, its options are the command's flags."""

from __future__ import annotations

import json
import os

from ketcd import _ketcd
from ketcd._error import Error

# What only annotations name is not imported: `typing` alone takes as long as the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime
    from types import TracebackType
    from typing import Any, TypeAlias

    # A moment: RFC 3339, `14:03:20`, an age such as `10m`, or a datetime with a time zone.
    Moment: TypeAlias = str | datetime
    # An end of a stretch of history: a revision, or a moment.
    End: TypeAlias = int | str | datetime


def open(  # noqa: A001
    *files: str | os.PathLike[str],
    prefix: str | None = None,
    encryption_config: str | os.PathLike[str] | None = None,
) -> Cluster:
    """Opens files of one cluster: everything that `ketcd -f` reads, but a live etcd and an API server.

    Several files are read as one history. `prefix` is the API server's `--etcd-prefix`, found in the data where it is not given;
    `encryption_config` an EncryptionConfiguration whose keys open sealed values; the KMS plugins that it names are not asked.
    """
    return Cluster([os.fspath(file) for file in files], prefix, None if encryption_config is None else os.fspath(encryption_config))


class Rows:
    """Many of something, as they are found: iterate over it, or hand it to what reads Arrow.

    The question is asked when an iteration begins, and again with each new one. Nothing is kept, so an answer may be larger than memory.
    """

    def __init__(self, ask: Callable[[], _ketcd.Rows]) -> None:
        self._ask = ask

    def __iter__(self) -> Iterator[dict[str, Any]]:
        rows = self._ask()
        while (line := rows.next_line()) is not None:
            yield json.loads(line)
        _log(rows.notices())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as columns: their scalar members, and documents as JSON."""
        return self._ask().arrow_c_stream()


class Cluster:
    """One cluster. It is opened once and asked any number of questions, also by several threads.

    A cluster that was opened before a fork refuses to answer after it; one that is pickled opens its files again.
    """

    def __init__(self, files: Sequence[str], prefix: str | None = None, encryption_config: str | None = None) -> None:
        if not files:
            raise Error("no file was named", 'name one: ketcd.open("snapshot.db")')
        self._given = ([*files], prefix, encryption_config)
        self._source: _ketcd.OpenSource | None = _ketcd.OpenSource(*self._given)
        _log(self._source.notices())

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __reduce__(self) -> tuple[type[Cluster], tuple[Sequence[str], str | None, str | None]]:
        return (Cluster, self._given)

    def __repr__(self) -> str:
        return f"ketcd.open({', '.join(map(repr, self._given[0]))})"

    def close(self) -> None:
        """Lets go of the files."""
        self._source = None

    def get(
        self, address: str, *, rev: int | None = None, at: Moment | None = None, namespace: str | None = None, show_managed_fields: bool = False
    ) -> dict[str, Any]:
        """One object, as the API server returns it."""
        return self._document("object", locals())

    def list(
        self,
        *addresses: str,
        rev: int | None = None,
        at: Moment | None = None,
        namespace: str | None = None,
        all_namespaces: bool = False,
        selector: str | None = None,
        field_selector: str | None = None,
        limit: int | None = None,
        show_managed_fields: bool = False,
    ) -> Rows:
        """Objects of kinds or addresses; without any every object of every kind."""
        return self._rows("objects", locals())

    def ls(self, *, rev: int | None = None, at: Moment | None = None, namespace: str | None = None) -> Rows:
        """How many objects of each kind there are, and their bytes, the largest first."""
        return self._rows("kinds", locals())

    def history(
        self,
        *addresses: str,
        since: End | None = None,
        until: End | None = None,
        namespace: str | None = None,
        all_namespaces: bool = False,
        selector: str | None = None,
        field_selector: str | None = None,
        objects: bool = False,
        show_managed_fields: bool = False,
    ) -> Rows:
        """Every readable change, oldest first. `objects` adds the whole object after each."""
        return self._rows("history", locals())

    def timeline(
        self,
        *addresses: str,
        since: End | None = None,
        until: End | None = None,
        namespace: str | None = None,
        all_namespaces: bool = False,
        selector: str | None = None,
        field_selector: str | None = None,
    ) -> dict[str, Any]:
        """What happened to objects, who did it, and how long each step took; a `List` where many are addressed."""
        return self._document("timeline", locals())

    def triage(
        self,
        *addresses: str,
        since: End | None = None,
        until: End | None = None,
        namespace: str | None = None,
        all_namespaces: bool = False,
        selector: str | None = None,
        field_selector: str | None = None,
    ) -> dict[str, Any]:
        """What is broken, since when and why, and who changed what before."""
        return self._document("triage", locals())

    def explain(
        self,
        address: str,
        *,
        rev: int | None = None,
        at: Moment | None = None,
        namespace: str | None = None,
        node: str | None = None,
        remedies: bool = True,
        scheduler_version: str | None = None,
        scheduler_config: str | os.PathLike[str] | None = None,
        feature_gates: str | None = None,
    ) -> dict[str, Any]:
        """Why a pod runs on its node, or why it runs on none."""
        return self._document("explain", locals())

    def decisions(
        self,
        *addresses: str,
        since: End | None = None,
        until: End | None = None,
        namespace: str | None = None,
        all_namespaces: bool = False,
        remedies: bool = True,
        scheduler_version: str | None = None,
        scheduler_config: str | os.PathLike[str] | None = None,
        feature_gates: str | None = None,
    ) -> Rows:
        """Every scheduling decision that the history shows, explained: `explain --all`."""
        return self._rows("decisions", locals())

    def usage(
        self,
        *addresses: str,
        since: End | None = None,
        until: End | None = None,
        namespace: str | None = None,
        all_namespaces: bool = False,
        selector: str | None = None,
        field_selector: str | None = None,
        quota: int | None = None,
    ) -> dict[str, Any]:
        """What fills etcd, and who writes so much. `quota` is in bytes."""
        return self._document("usage", locals())

    def grep(
        self,
        pattern: str,
        *addresses: str,
        regexp: bool = False,
        ignore_case: bool = False,
        places: Sequence[str] = (),
        objects: bool = False,
        since: End | None = None,
        until: End | None = None,
        namespace: str | None = None,
        all_namespaces: bool = False,
        selector: str | None = None,
        field_selector: str | None = None,
    ) -> Rows:
        """Which objects hold or ever held a value, from when to when, and who set it. `objects` has the objects alone."""
        places = [*places]
        return self._rows("grep", locals())

    def status(self) -> dict[str, Any]:
        """What this source can tell: its revisions, its sizes, the versions seen."""
        return self._document("status", locals())

    def table(
        self,
        name: str,
        *addresses: str,
        since: End | None = None,
        until: End | None = None,
        namespace: str | None = None,
        selector: str | None = None,
        field_selector: str | None = None,
    ) -> Rows:
        """The rows of a table of `ketcd export`: objects, history, events, decisions or decision_nodes."""
        return self._rows("table", locals())

    def _opened(self) -> _ketcd.OpenSource:
        if self._source is None:
            raise Error("this cluster was closed", f"open it again: {self!r}")
        return self._source

    def _document(self, question: str, given: dict[str, Any]) -> dict[str, Any]:
        document, notices = self._opened().document(question, _asked(given))
        _log(notices)
        answer: dict[str, Any] = json.loads(document)
        return answer

    def _rows(self, question: str, given: dict[str, Any]) -> Rows:
        asked = _asked(given)
        return Rows(lambda: self._opened().rows(question, asked))


def _asked(given: dict[str, Any]) -> str:
    """What a method was called with, as the extension reads it: addresses are words, and what was not given is left out."""
    options = {_OPTIONS.get(name, name): _plain(name, value) for name, value in given.items() if name != "self" and value is not None}
    if "address" in options:
        options["words"] = [options.pop("address")]
    if "remedies" in options:
        options["no_remedies"] = not options.pop("remedies")
    return json.dumps(options)


# What the extension calls the parameters that have other names in Python.
_OPTIONS = {"addresses": "words", "name": "table"}


def _plain(name: str, value: Any) -> Any:
    """An option as JSON has it."""
    if hasattr(value, "isoformat"):
        if getattr(value, "tzinfo", None) is None:
            raise Error(f"{name}: {value!r} has no time zone", "give it one: datetime(…, tzinfo=timezone.utc)")
        return value.isoformat()
    if name in ("since", "until"):
        return str(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _log(notices: Sequence[str]) -> None:
    """Hands what was noticed next to an answer to the logger `ketcd`, as warnings."""
    if notices:
        import logging

        for notice in notices:
            logging.getLogger("ketcd").warning("%s", notice)
