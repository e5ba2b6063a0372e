"""Monitor: calibration and score drift window by window, with delayed labels, in a crash-safe store."""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    ArgumentError,
    CalibrantError,
    FileError,
    GroupError,
    InputError,
    InputTypeError,
    LensError,
)
from ..input.convert import column
from ..input.frames import check_same_rows
from ..input.predictions import Predictions
from ..sketches.collection import ALL, Sketches
from ..util.arrays import Floats
from ..util.blocks import LARGE_BLOCK, map_blocks
from ..util.progress import track
from .alarms import clock_of, drift_alarms, labelled_windows, settle, start_stream
from .building import Baseline, alarms_of, build_status, examine
from .features import subgroup_notes, window_subgroups
from .ingest import (
    ALL_ROWS,
    Arrivals,
    balance,
    group_key,
    group_name,
    known_keys,
    put_labels,
    read_arrivals,
    read_ids,
    read_labels,
    reconcile,
    sketch_of,
    some_names,
    take_in,
    watched_scores,
)
from .labelfree import ScoreFindings
from .online import online_status, stored_calibrator
from .ood import LENS as OOD_LENS
from .ood import OodScale, read_ood, scales_of
from .queries import Part, Transaction
from .retention import Pruned, plan_retention, prune_rows
from .sequential import as_counted
from .set_aside import files_set_aside, remember
from .settings import Settings, check_columns, check_watched, read_horizon, read_keep
from .status import MonitorStatus, Update
from .store import Store, is_unwritable
from .windows import SECOND, WindowRule, read_duration, read_time, read_times, time_text, window_rule

if TYPE_CHECKING:
    from ..evaluation.certificates import Certificate
    from ..evaluation.subgroups import Subgroups
    from ..recalibration.online import OnlineCalibration
    from .certified import CertificateStatus

Whole = NDArray[np.int64]
# Windows compared with the reference data per transaction.
TOGETHER = 16


class Monitor:
    r"""Monitor of calibration and score drift over time, with delayed labels.

    Predictions are assigned to windows of time or of a number of rows. Each closed window is compared with the
    reference data without labels (score drift, confidence, estimated accuracy, out-of-distribution scores where they are
    given); once enough labels are available it is tested, by a sequential test that is valid after every window and by a change detector. Use `create` for a new
    monitor and `open` for an existing one.

    All data are in one SQLite file, or in a schema of a PostgreSQL server. Each update is one transaction: a crash loses at most the update being written,
    and repeating an update changes nothing. The time is the newest time among the rows; the clock of the machine only
    serves to recognize rows whose time lies ahead.

    Parameters
    ----------
    *arguments, **keywords
        Not accepted: monitors are returned by `create` and `open`.

    See Also
    --------
    calibrant.assess : Test a fixed data set.

    Notes
    -----
    The sequential test is an e-process: a mixture over alternatives :math:`j` (shifts and slopes of the logit, fixed or
    fitted to past windows) of likelihood ratios,

    .. math:: E_t = \sum_j w_j \prod_{i \le t} \frac{q_j(p_i)^{y_i} (1 - q_j(p_i))^{1 - y_i}}{p_i^{y_i} (1 - p_i)^{1 - y_i}}.

    If each label has its predicted probability given the past, :math:`P(\sup_t E_t \ge 1/\alpha) \le \alpha` [1]_. The
    change detector sums such products over all possible onsets (Shiryaev-Roberts) and has an average run length of at
    least `run_length` windows [2]_.

    References
    ----------
    .. [1] Ramdas, Gruenwald, Vovk and Shafer (2023): Game-theoretic statistics and safe anytime-valid inference.
       Statistical Science 38, 576-601.
    .. [2] Shin, Ramdas and Rinaldo (2024): E-detectors: a nonparametric framework for sequential change detection.
       New England Journal of Statistics in Data Science 2, 229-260.

    Examples
    --------
    >>> import os, tempfile
    >>> import calibrant as cal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path, reference = os.path.join(folder, "monitor.db"), ([0, 1, 1, 1] * 9, [0.1, 0.4, 0.8, 0.9] * 9)
    ...     monitor = cal.Monitor.create(path, reference=reference, every="1d")
    ...     first = monitor.update(None, [0.2, 0.9], when="2026-01-05T10:00", ids=["a", "b"])
    ...     again = monitor.update(None, [0.2, 0.9], when="2026-01-05T10:00", ids=["a", "b"])
    ...     later = monitor.add_labels(["a", "b"], [0, 1])
    ...     status = monitor.status()
    >>> first.added, again.added, later.labelled, status.windows[0].labelled
    (2, 0, 2, 2)
    """

    settings: Settings
    """Settings, fixed at creation."""
    reference: Sketches
    """Reference data as sketches."""
    _store: Store
    _ood: Any
    _seasons: dict[tuple[str, int], dict[str, Any]]

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        remedy = "use Monitor.create for a new monitor or Monitor.open for an existing one"
        raise InputTypeError("Monitor", "has no public constructor", remedy)

    @classmethod
    def _from_store(cls, store: Store) -> Monitor:
        monitor = cls.__new__(cls)
        monitor._store = store
        with store.read() as db:
            stored, content, monitor._ood = db.meta("settings"), db.reference(), db.ood_reference()
        try:
            monitor.settings = Settings.of_dict(stored)
            monitor.reference = Sketches.from_bytes(content, str(store.path))
            monitor._seasons = {}
            if monitor.settings.rule.season is not None:
                with store.read() as db:
                    monitor._seasons = db.season_reference()
        except (KeyError, TypeError, ValueError) as error:
            raise FileError(str(store.path), f"is corrupt: {error}", "restore it from a backup") from error
        return monitor

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        reference: Any,
        when: Any = None,
        every: str | int | WindowRule,
        lens: str = "auto",
        groups: Iterable[Any] | None = None,
        alpha: float = 0.05,
        run_length: float = 1000,
        drift_alpha: float = 0.01,
        mature: float = 0.95,
        horizon: Any = None,
        missing: Literal["ignore", "negative"] = "ignore",
        n_resamples: int = 999,
        ood: Any = None,
        columns: Mapping[str, str] | None = None,
        keep: Any = None,
        features: Iterable[str] = (),
        online: bool = False,
    ) -> Monitor:
        """Create a monitor in a new file or in a schema of a PostgreSQL server.

        Parameters
        ----------
        path : str or path
            File, which must not exist, or URL ``postgresql://USER@HOST/DATABASE?schema=NAME``.
        reference : tuple, Predictions or Sketches
            Labelled reference data, from a time when the model was acceptable: a pair ``(y_true, y_prob)``,
            `Predictions` or `Sketches`. With groups, each group is compared with its own reference data.
        when : array-like of shape (N,), optional
            Time of each reference row; required for windows with a season.
        every : str, int or WindowRule
            Length of a window: ``"1h"``, ``"1d"`` or ``"1w"``, in UTC; a number of rows, in order of arrival; or
            ``calibrant.monitoring.window_rule("1d", time_zone="Europe/Berlin", season="week")`` for days of a time zone, and scores
            that change with the day of the week or the hour.
        lens : str, default "auto"
            Which event is monitored: ``"binary"``, ``"top_label"`` or ``"class:NAME"``.
        groups : iterable, optional
            Groups to monitor; by default those of the reference data. Others may be added later, with a smaller share
            of the level.
        alpha : float, default 0.05
            Probability that the sequential test of all rows ever raises a false alarm, and the same for all groups
            together.
        run_length : float, default 1000
            Least average number of windows between false alarms of the change detector.
        drift_alpha : float, default 0.01
            Probability of a false drift alarm in each window, for predictions and out-of-distribution scores of all
            groups together, on average over reference data: all windows are compared with the same reference data, and unrepresentative ones raise more alarms. Reference data much larger than
            a window keep it close to this level.
        mature : float, default 0.95
            Share of labelled rows at which a window is tested.
        horizon : str or int, optional
            Time after which a window is tested regardless of missing labels: a duration, or a number of rows for
            windows of rows. By default windows wait indefinitely.
        missing : {"ignore", "negative"}, default "ignore"
            After the horizon, whether unlabelled rows are ignored or count as negative.
        n_resamples : int, default 999
            Number of permutations for the p-values of drift.
        ood : mapping of str to array-like, frame or array-like of shape (N,), optional
            Out-of-distribution scores of the reference rows, such as ``{"energy": ood.energy(logits)}``, which are watched
            beside the predictions; every update must bring the same scores. One array is named ``"ood"``. The reference
            must then be rows.
        columns : mapping of str to str, optional
            Columns in files, as defaults of the command line: ``label``, ``prob``, ``probs``, ``logits``, ``confidence``,
            ``time``, ``id`` and ``by``, that of the groups.
        keep : str or int, optional
            How long `prune` keeps rows: a duration such as ``"90d"``, or a number of windows. By default it removes none.
        features : iterable of str, optional
            Names of features that are stored with the rows, which then require ids. The status lists the subgroups of the newest tested window
            in which predictions and outcomes disagree; see `subgroups`.
        online : bool, default False
            Whether to keep an online recalibration of the scores, `OnlineCalibration`, that learns from each tested window of all rows.
            The status compares its Brier score with that of the scores as they are; see `online_calibrator`.

        Returns
        -------
        Monitor
            The monitor.

        Raises
        ------
        FileError
            If the file exists or cannot be written.
        LensError
            If the reference data have no such lens.
        """
        if lens != "auto":
            check_watched(lens)
        sketches, has_names, rows = _read_reference(reference, lens)
        scales, scores = _read_ood_reference(ood, rows)
        in_reference = [group_key(name) for name in sketches.groups]
        names = (
            in_reference
            if groups is None
            else list(dict.fromkeys(known_keys(map(group_key, groups), in_reference).values()))
        )
        rule = every if isinstance(every, WindowRule) else window_rule(every)
        stored_columns = check_columns(columns)
        settings = Settings(
            kind=sketches.kind,
            classes=sketches.classes,
            named=has_names,
            lens=_choose_lens(sketches, lens),
            rule=rule,
            alpha=alpha,
            run_length=run_length,
            drift_alpha=drift_alpha,
            mature=mature,
            horizon=read_horizon(horizon, rule),
            missing=missing,
            n_resamples=n_resamples,
            declared=len(names),
            by=stored_columns.pop("by", None),
            ood=scales,
            columns=stored_columns,
            keep=read_keep(keep, rule),
            features=tuple(features),
            online=online,
        )
        blobs = _reference_sketches(settings, rows, scores, when)
        streams = [start_stream(settings, name, place, place > 0) for place, name in enumerate([ALL_ROWS, *names])]
        return cls._from_store(
            Store.create(path, {"settings": settings.to_dict()}, sketches.to_bytes(), streams, blobs)
        )

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Monitor:
        """Open an existing monitor, after an integrity check if the file has at most 32 MB.

        Parameters
        ----------
        path : str or path
            File of the monitor, or its URL.

        Returns
        -------
        Monitor
            The monitor.

        Raises
        ------
        FileError
            If the file is missing, damaged or no monitor.
        """
        return cls._from_store(Store.open(path))

    def check(self) -> None:
        """Check the whole store for damage, which takes about a second for 300 MB.

        Raises
        ------
        FileError
            If the store is damaged.
        """
        self._store.check()

    def backup(self, copy: str | os.PathLike[str]) -> None:
        """Copy the store as it is at one moment, while others may write to it.

        Parameters
        ----------
        copy : str or path
            File of the copy, which must not exist.

        Raises
        ------
        FileError
            If the copy exists or cannot be written, or if the store is on a server, for which there is ``pg_dump``.
        """
        self._store.backup(copy)

    @property
    def path(self) -> Path | str:
        """File of the store, or its URL without password."""
        return self._store.path

    @property
    def name(self) -> str:
        """Name of the file without its suffix, or of the schema."""
        return self._store.database.name

    @property
    def groups(self) -> tuple[Any, ...]:
        """Monitored groups, in the order in which they were added."""
        with self._store.read() as db:
            return _groups_of(db)

    def update(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        when: Any = None,
        ids: Any = None,
        groups: Any = None,
        delivery: str | None = None,
        ood: Any = None,
        features: Any = None,
        latest: Any = "auto",
    ) -> Update:
        """Add predictions, with the labels known so far.

        Parameters
        ----------
        y_true : array-like of shape (N,), None or Predictions
            Labels; None or NaN for missing ones, None if all are missing. Or `Predictions` with all labels, and `y_prob` is then
            left out.
        y_prob : array-like of shape (N,) or (N, K), optional
            Predicted probabilities of the kind of the reference data; rows that need rescaling, and logits, are converted before.
        when : str, datetime or array-like, optional
            Time of each prediction, or of all; required for windows of time. Times without zone are UTC.
        ids : array-like of shape (N,), optional
            Identifier of each row. A repeated row is counted once, and a different label replaces the previous one.
        groups : array-like of shape (N,), optional
            Group of each row; required once the monitor has groups.
        delivery : str, optional
            Name of this delivery, for rows without ids: a repeated name is ignored. By default the content identifies
            it.
        ood : mapping of str to array-like, frame or array-like of shape (N,), optional
            Out-of-distribution scores of each row; required for, and limited to, those given to `create`. If there is one,
            it can be passed as an array.
        features : frame or mapping of str to array-like, optional
            Features of each row, with those named to `create`; required if there are any. Those of a repeated row are not changed.
        latest : str, datetime or None, default "auto"
            Latest time that a row may have, by default one day after the time of the machine; None for any time. A single row
            of next year would close all windows until then, and end the wait for their labels.

        Returns
        -------
        Update
            Numbers of rows and labels added, windows closed and tested, and the ``alarms`` raised.

        Raises
        ------
        InputError
            If a known id has another prediction, a delivery other rows, a time is after `latest`, or an
            out-of-distribution score is missing or unknown.
        GroupError
            If groups are missing.
        """
        check_same_rows(y_prob, {"y_true": y_true, "ids": ids, "groups": groups, "features": features}, "y_prob")
        if isinstance(y_true, Predictions):
            y_true, y_prob, groups = _columns_of(y_true, y_prob, groups, self.settings)
        delivered = len(column(y_prob, "y_prob").array)
        rows = read_arrivals(
            y_true, y_prob, settings=self.settings, when=when, ids=ids, groups=groups, ood=ood, features=features
        )
        if when is not None:
            self._require_time()
            _check_times(rows, latest)
        with self._store.write() as db:
            begun = len(db.events())
            rows = _with_known_groups(db, rows)
            if _is_repeated(db, rows, delivery):
                counts = Counter(rows=rows.n, repeated=rows.n)
            else:
                counts = take_in(db, self.settings, rows, lambda *w: start_stream(self.settings, *w))
                if rows.time is not None and rows.n:
                    _advance(db, int(rows.time.max()))
            reconcile({**balance(counts), "rows": delivered})
            settled = settle(db, self.settings)
        return self._answer(counts, settled, begun)

    def add_labels(self, ids: Any, y_true: Any, *, now: Any = None) -> Update:
        """Add or correct labels of earlier predictions; each is added to the window of its prediction.

        Parameters
        ----------
        ids : array-like of shape (N,)
            Identifiers given to `update`.
        y_true : array-like of shape (N,)
            Label of each.
        now : str or datetime, optional
            Current time, at which windows close and horizons expire; by default the newest time among the rows.

        Returns
        -------
        Update
            Numbers of labels added, windows closed and tested, and the ``alarms`` raised.
        """
        check_same_rows(ids, {"y_true": y_true}, "ids")
        names = read_ids(ids, None)
        if names is None:
            raise InputError("ids", "are required to find the rows", "give the same ids as to update")
        delivered = len(names)
        labels = read_labels(y_true, delivered, k=self.settings.k, classes=self.settings.names)
        with self._store.write() as db:
            begun = len(db.events())
            if now is not None:
                self._pass_time(db, now)
            counts = put_labels(db, self.settings, names, labels)
            reconcile({**balance(counts), "labels": delivered})
            settled = settle(db, self.settings)
        return self._answer(counts, settled, begun)

    def set_aside(self, problems: Mapping[str, str], *, added: Iterable[str] = ()) -> dict[str, dict[str, Any]]:
        """Remember files that could not be added, by name and content; the status lists them.

        Parameters
        ----------
        problems : mapping of str to str
            What is wrong with each file.
        added : iterable of str
            Files that were added, and are no longer set aside, as those are not that do not exist any more.

        Returns
        -------
        dict of str to dict
            Of each of these files the name, ``sha256``, ``problem``, and whether the same content was set aside before (``unchanged``).

        Examples
        --------
        >>> import os, tempfile
        >>> from pathlib import Path
        >>> import calibrant as cal
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path, reference = os.path.join(folder, "monitor.db"), ([0, 1, 1, 1] * 9, [0.1, 0.4, 0.8, 0.9] * 9)
        ...     monitor = cal.Monitor.create(path, reference=reference, every="1d")
        ...     file = os.path.join(folder, "day.csv")
        ...     _ = Path(file).write_text("prob 1.7")
        ...     first = monitor.set_aside({file: "got 1.7"})
        ...     again = monitor.set_aside({file: "got 1.7"})
        >>> first[file]["unchanged"], again[file]["unchanged"]
        (False, True)
        """
        with self._store.read() as db:
            if not problems and not files_set_aside(db):
                return {}
        with self._store.write() as db:
            return remember(db, problems, added)

    def prune(self, keep: Any = None, *, dry_run: bool = False) -> Pruned:
        """Remove old rows; sketches, results and alarms of their windows are kept, and the store shrinks.

        Only rows of windows that were compared with the reference data and tested or skipped are removed, and only if their
        labels are complete or the horizon of the labels has passed; without a horizon, rows without a label are kept. Of each
        row a fingerprint of its id remains: if it is delivered again, or a label arrives for it, it is ignored and counted in
        the result of that call.

        Parameters
        ----------
        keep : str or int, optional
            Rows of windows that ended longer ago than a duration such as ``"90d"`` are removed, or those of all but a
            number of the latest windows; by default the `keep` given to `create`.
        dry_run : bool, default False
            Whether to report only.

        Returns
        -------
        Pruned
            Numbers of rows removed and kept, the windows, and the size of the store.

        Raises
        ------
        ArgumentError
            If `keep` was given neither here nor to `create`.

        Examples
        --------
        >>> import os, tempfile
        >>> import calibrant as cal
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path, reference = os.path.join(folder, "monitor.db"), ([0, 1, 1, 1] * 9, [0.1, 0.4, 0.8, 0.9] * 9)
        ...     monitor = cal.Monitor.create(path, reference=reference, every="1d", keep="1d")
        ...     for day in (5, 6, 8):
        ...         done = monitor.update([0, 1], [0.2, 0.9], when=f"2026-01-0{day}", ids=[f"{day}a", f"{day}b"])
        ...     pruned = monitor.prune()
        ...     late = monitor.add_labels(["5a"], [1])
        >>> pruned.rows, pruned.windows, pruned.kept, late.pruned
        (4, ('2026-01-05', '2026-01-06'), 2, 1)
        """
        keep_rule = self.settings.keep if keep is None else read_keep(keep, self.settings.rule)
        if keep_rule is None:
            raise ArgumentError("keep", "is required, since none was given to create", "for example '90d'")
        before = self._store.size()
        if not dry_run:  # which writes nothing, not even the comparisons that are missing
            self._store.database.release_reserve()
            self._examine_if_writable()
        with self._store.read() as db:
            plan = plan_retention(db, self.settings, keep_rule)
            late = set() if dry_run else set(db.unexamined())
        waits_of = {place: waits for place, waits in plan.places.items() if place not in late}
        rows = plan.rows
        if not dry_run:
            rows = prune_rows(self._store, waits_of) if waits_of else 0
            self._store.compact()
            self._store.database.keep_reserve()
        windows, waiting = (tuple(map(self.settings.rule.name, each)) for each in (waits_of, plan.waiting))
        rows_kept = plan.kept + plan.rows - rows
        return Pruned(rows, windows, waiting, rows_kept, before, before if dry_run else self._store.size(), dry_run)

    def advance(self, now: Any, *, latest: Any = "auto") -> Update:
        """Set the current time, at which windows close and horizons expire.

        Parameters
        ----------
        now : str or datetime
            Current time.
        latest : str, datetime or None, default "auto"
            Latest time that `now` may be, as of `update`.

        Returns
        -------
        Update
            Windows closed and tested, and the ``alarms`` raised.

        Raises
        ------
        InputError
            If `now` is after `latest`.
        """
        with self._store.write() as db:
            begun = len(db.events())
            self._pass_time(db, now, latest)
            settled = settle(db, self.settings)
        return self._answer(Counter(), settled, begun)

    def _require_time(self, argument: str = "when") -> None:
        if not self.settings.rule.by_time:
            raise ArgumentError(
                argument, "applies to windows of time, and these are counted in rows", f"drop {argument}"
            )

    def _pass_time(self, db: Transaction, now: Any, latest: Any = "auto") -> None:
        self._require_time("now")
        clock, end = read_time(now, "now"), _latest_time(latest)
        if clock > end:
            problem = f"{time_text(clock)} is after the latest accepted time ({time_text(int(end))})"
            raise InputError(
                "now", problem, "later rows would be tested as they come; pass latest if the time is right"
            )
        _advance(db, clock)

    def status(self, *, last: int | None = 60, group: Any = None) -> MonitorStatus:
        """Return the current status.

        Parameters
        ----------
        last : int, optional
            Number of windows to show, default 60; None for all.
        group : object, optional
            Group to show; by default all rows.

        Returns
        -------
        MonitorStatus
            ``verdict``, ``windows``, ``groups`` and ``alarms``; ``to_frame()`` has one row per window.
        """
        self._examine_if_writable()
        status = build_status(self._store, self.settings, self._reference_of, last, group)
        with self._store.read() as db:
            place = db.last_tested()
            if self.settings.online:
                tested_places = [tested for tested, *_ in db.evidence(ALL_ROWS)]
                online = online_status(db, self.settings, tested_places if last is None else tested_places[-last:])
                notes = () if online is None else (repr(online),)
                status = replace(status, online=online, notes=(*status.notes, *notes))
        if not self.settings.features or place is None:
            return status
        window = self.settings.rule.name(place)
        try:
            subgroups = self.subgroups(window)
        except CalibrantError:  # its labelled rows are too few, or were removed
            return status
        return replace(status, subgroups=subgroups, notes=(*status.notes, *subgroup_notes(window, subgroups)))

    def subgroups(self, window: str | None = None) -> Subgroups:
        """Find the subgroups of a window in which predictions and outcomes disagree, by the stored features.

        Parameters
        ----------
        window : str, optional
            Name of the window, as shown by the status; by default the newest tested one.

        Returns
        -------
        Subgroups
            Result of `find_subgroups` for the labelled rows of the window, at the settings' `alpha` for each window by itself.

        Raises
        ------
        ArgumentError
            If there is no such window.
        UndefinedMetricError
            If it has fewer than 40 labelled rows.
        """
        with self._store.read() as db:
            place_of = {self.settings.rule.name(each.place): each.place for each in db.windows(ALL_ROWS)}
            place = db.last_tested() if window is None else place_of.get(window)
            if place is None:
                raise ArgumentError("window", f"unknown window {window!r}", "see status().windows")
            return window_subgroups(db, self.settings, place)

    def online_calibrator(self) -> OnlineCalibration:
        """Return the online recalibration of the scores, as it is after the newest tested window.

        It learns from the labels that a window has when it is tested, of at most 5000 random rows; later labels and corrections do not
        change it.

        Returns
        -------
        OnlineCalibration
            The calibrator of the probability of the monitored event; it can be saved, and updated further.

        Raises
        ------
        ArgumentError
            If the monitor was created without ``online=True``, or has not tested a window yet.
        """
        with self._store.read() as db:
            calibrator = stored_calibrator(db)
        if calibrator is None:
            problem = "no window was tested yet" if self.settings.online else "the monitor was created without it"
            raise ArgumentError("online", problem)
        return calibrator

    def check_certificate(self, certificate: Certificate) -> CertificateStatus:
        """Test whether the bounds of a certificate still hold, by the labelled rows of all tested windows.

        Parameters
        ----------
        certificate : Certificate
            Result of `certify`, for the lens of the monitor; bounds of groups are tested on the groups of the monitor.

        Returns
        -------
        CertificateStatus
            ``valid``, and for each bound the evidence against it and the window in which it was withdrawn. A bound that holds is
            ever withdrawn with probability at most the settings' `alpha`, all bounds together, however often this is called.

        Raises
        ------
        LensError
            If the certificate is about another event.

        Notes
        -----
        The evidence is a test supermartingale: rows are weighted by the sign that the error had at their score in earlier windows, and
        their mean deviation in this direction is at most the calibration error, whatever the calibration curve. Nothing is assumed of
        the curve, and the evidence cannot show that the bound holds.
        """
        from .certified import certificate_status  # an update needs none of what it imports

        if certificate.lens != self.settings.lens:
            raise LensError("certificate", f"is about {certificate.lens!r}, the monitor about {self.settings.lens!r}")
        rule, streams = self.settings.rule, []
        with self._store.read() as db:
            existing, clock = db.streams(), clock_of(db, self.settings)
            for certified in certificate.bounds:
                stream = ALL_ROWS if certified is certificate.bounds[0] else group_key(certified.group)
                if stream in existing:
                    tested = labelled_windows(db, self.settings, stream, clock)
                    streams.append((certified, [(rule.name(place), as_counted(rows)) for place, rows in tested]))
        return certificate_status(streams, self.settings.alpha, certificate.bins)

    def acknowledge(self, alarm: int | None = None) -> int:
        """Acknowledge all alarms, or one of them, so that only new ones are open.

        A change of calibration that continues keeps its onset and acknowledgement; after a recovery, or in another
        direction, it is a new change. Score drift is tested in every window, and each significant window raises an
        alarm.

        Parameters
        ----------
        alarm : int, optional
            Number of the alarm, as in the status; its repetitions (same kind, score, group and onset) are acknowledged with it. By
            default all alarms.

        Returns
        -------
        int
            Number of alarms acknowledged.

        Raises
        ------
        ArgumentError
            If there is no alarm of this number.
        """
        with self._store.write() as db:
            if alarm is not None and alarm not in [number for number, *_ in db.events()]:
                raise ArgumentError("alarm", f"there is no alarm {alarm!r}", "the status lists their numbers")
            return db.acknowledge(alarm)

    def sketch(self, window: str, group: Any = None, *, labelled: bool = True) -> Any:
        """Return the sketch of a window.

        Parameters
        ----------
        window : str
            Name of the window, as shown by the status.
        group : object, optional
            Group; by default all rows.
        labelled : bool, default True
            Whether to return the labelled rows only. Otherwise all rows, whose outcomes are not meaningful.

        Returns
        -------
        Sketch
            The sketch.

        Raises
        ------
        ArgumentError
            If there is no such window.
        """
        with self._store.read() as db:
            for each in db.windows(ALL_ROWS):
                if self.settings.rule.name(each.place) == window:
                    part = db.part(each.place, group_key(group), self.settings.lens)
                    return part.outcomes if labelled else part.scores
        raise ArgumentError("window", f"unknown window {window!r}", "see status().windows")

    def _reference_of(self, stream: str, place: int | None = None) -> Baseline:
        """Reference data of a stream, of the part of the season of a window; without scores if they do not contain the group."""
        if place is not None and self.settings.rule.season is not None:
            sketches = self._seasons.get((stream, self.settings.rule.phase(place)), {})
            return Baseline(sketches.get(""), sketches)
        part = self.reference.parts.get(ALL if stream == ALL_ROWS else group_name(stream))
        return Baseline(None if part is None else part.lenses[self.settings.lens], self._ood.get(stream, {}))

    def _answer(self, counts: Counter[str], settled: tuple[list[int], list[int]], begun: int) -> Update:
        self._examine()
        with self._store.read() as db:
            raised = alarms_of(db, self.settings)[begun:]
        new, ongoing = (tuple(a for a in raised if a.acknowledged == seen) for seen in (False, True))
        closed, tested = (tuple(self.settings.rule.name(place) for place in places) for places in settled)
        return Update(**counts, closed=closed, tested=tested, alarms=new, ongoing=ongoing)

    def _examine_if_writable(self) -> None:
        """Compare scores where the results can be kept now; else the next call that can write does, and raises the alarms."""
        try:
            self._examine(patient=False)
        except FileError as error:
            if not is_unwritable(error):
                raise

    def _examine(self, patient: bool = True) -> None:
        """Compare the scores of closed windows with the reference data, a few windows per transaction."""
        with self._store.read() as db:
            unexamined = db.unexamined()
        for begin in track(range(0, len(unexamined), TOGETHER), "batches of windows"):
            some = unexamined[begin : begin + TOGETHER]
            with self._store.read() as db:
                parts = {place: db.parts(place) for place in some}
                streams = len(db.streams())
            tasks = [(part, self._reference_of(part.stream, place)) for place in some for part in parts[place]]
            # Drawing permutations releases the interpreter's lock, and a task takes far longer than starting a thread.
            results = iter(
                map_blocks(
                    lambda a, b, tasks=tasks, streams=streams: examine(
                        tasks[a][0], self.settings, tasks[a][1], streams
                    ),  # type: ignore[misc]
                    len(tasks),
                    1,
                    columns=LARGE_BLOCK,
                )
            )
            findings = {place: {part.stream: next(results) for part in parts[place]} for place in some}
            with self._store.write(patient) as db:
                for place in some:
                    self._note(db, place, parts[place], findings[place])

    def _note(self, db: Transaction, place: int, parts: list[Part], results: dict[str, ScoreFindings]) -> None:
        """Store the results and alarms of a window."""
        window = db.window(place)
        current, before = ({part.stream: (part.scores, part.ood) for part in each} for each in (db.parts(place), parts))
        if window.examined or current != before:
            return  # another process was faster, or rows arrived meanwhile: repeated at the next call
        for stream, findings in results.items():
            db.save_results(place, stream, "drift", findings.to_dict())
        for stream, kind, pvalue, sentence in drift_alarms(results, self.settings.drift_alpha):
            db.add_event(place, stream, kind, pvalue, sentence)
        db.save_window(window._replace(examined=True))

    def __repr__(self) -> str:
        watched = f"{self.settings.lens}, windows of {self.settings.rule.words}"
        return f"Monitor({str(self.path)!r}: {watched}, reference of {self.reference.n:,} rows)"


def _columns_of(p: Predictions, y_prob: Any, groups: Any, settings: Settings) -> tuple[Any, Any, Any]:
    """Labels, probabilities and groups of predictions."""
    if y_prob is not None or groups is not None:
        argument = "y_prob" if y_prob is not None else "groups"
        raise InputTypeError(argument, "cannot be combined with Predictions", "pass it to Predictions(...) instead")
    if p.labels is None or p.weight is not None:
        raise InputTypeError("y_true", "a monitor takes single rows with hard labels", "drop weights and soft labels")
    labels: Any = p.labels
    if settings.names is not None and p.classes is not None:
        labels = [p.classes[code] for code in p.labels.tolist()]
    return labels, p.probs, None if p.groups is None else [p.group_names[code] for code in p.groups.tolist()]


def _read_reference(reference: Any, lens: str) -> tuple[Sketches, bool, Predictions | None]:
    """Reference data as sketches, whether the classes have names, and the rows if they were given."""
    p = None
    if isinstance(reference, Sketches):
        sketches = reference
    else:
        if isinstance(reference, tuple) and len(reference) == 2:
            p = Predictions(*reference)
        elif isinstance(reference, Predictions):
            p = reference
        else:
            raise InputTypeError(
                "reference", f"must be (y_true, y_prob), Predictions or Sketches; got {type(reference).__name__}"
            )
        sketches = Sketches.of(p, lenses=None if lens == "auto" else [lens])
    if not sketches.n:
        raise InputError("reference", "has no rows", "pass labelled reference data")
    has_class_names = sketches.kind != "confidence" and tuple(sketches.classes) != tuple(range(len(sketches.classes)))
    return sketches, has_class_names, p


def _choose_lens(sketches: Sketches, lens: str) -> str:
    """The lens to monitor, of which the reference must have a sketch."""
    name = sketches.main if lens == "auto" else lens
    if name not in sketches.lenses:
        remedy = f"choose one of {', '.join(sketches.lenses)}"
        raise LensError("lens", f"the reference has no sketch of {name!r}", remedy)
    return name


def _read_ood_reference(ood: Any, p: Predictions | None) -> tuple[tuple[OodScale, ...], dict[str, Floats]]:
    """Scales of the out-of-distribution scores, and the scores of the reference rows."""
    if ood is None:
        return (), {}
    if p is None:
        raise ArgumentError(
            "ood", "requires the rows of the reference, and these are sketches", "pass labels and probabilities"
        )
    scores = read_ood(ood, p.n if p.kept is None else len(p.kept))
    if p.kept is not None:
        scores = {name: values[p.kept] for name, values in scores.items()}
    return scales_of({name: np.repeat(values, _counts(p)) for name, values in scores.items()}), scores


def _counts(p: Predictions) -> Whole:
    return np.ones(p.n, np.int64) if p.weight is None else p.weight.astype(np.int64)


def _reference_sketches(
    settings: Settings, p: Predictions | None, ood: Mapping[str, Floats], when: Any
) -> dict[tuple[Any, ...], bytes]:
    """Out-of-distribution scores of each stream and, with a season, all scores of each stream and phase, as bytes of sketches."""
    if p is None and settings.rule.season is not None:
        raise ArgumentError("reference", "must be rows for windows with a season", "pass labels and probabilities")
    if p is None:
        return {}
    counts = _counts(p)
    streams = {ALL_ROWS: np.ones(p.n, bool)}
    if p.groups is not None:
        streams |= {group_key(name): p.groups == code for code, name in enumerate(p.group_names)}
    parts: dict[tuple[Any, ...], Any] = {(): np.ones(p.n, bool)}
    if settings.rule.season is not None:
        if when is None:
            raise ArgumentError("when", "is required for windows with a season", "give the time of each reference row")
        times = read_times(when, p.n if p.kept is None else len(p.kept))
        places, place = np.unique(
            settings.rule.place_of(times if p.kept is None else times[p.kept]), return_inverse=True
        )
        phase = np.array([settings.rule.phase(each) for each in places.tolist()])[place]
        parts |= {(each,): phase == each for each in np.unique(phase).tolist()}
    columns: dict[str, tuple[Floats, Any, str]] = {
        scale.name: (scale.placed(ood[scale.name]), None, OOD_LENS) for scale in settings.ood
    }
    if settings.rule.season is not None:
        score, target = watched_scores(p, settings)
        columns[""] = score, p.labels == target, settings.lens
    contents = {}
    for (stream, own), (key, some), (name, (score, outcome, lens)) in product(
        streams.items(), parts.items(), columns.items()
    ):
        rows = np.repeat(np.flatnonzero(own & some), counts[own & some])
        if len(rows) and (name or key):
            content = sketch_of(score[rows], None if outcome is None else outcome[rows], lens)
            contents[stream, name, *key] = content.to_bytes()
    return contents


def _with_known_groups(db: Transaction, rows: Arrivals) -> Arrivals:
    """Rows with the groups of the monitor, however they are spelled; rows without would be missing from the groups unnoticed."""
    if rows.group is not None:
        known = known_keys(dict.fromkeys(rows.group), db.streams())
        return replace(rows, group=[known[key] for key in rows.group])
    known_groups = _groups_of(db)
    if rows.n and known_groups:
        problem = f"are required: this monitor has the groups {some_names(known_groups)}"
        raise GroupError("groups", problem, "give the group of each row")
    return rows


def _groups_of(db: Transaction) -> tuple[Any, ...]:
    return tuple(group_name(stream) for stream in db.streams() if stream != ALL_ROWS)


def _is_repeated(db: Transaction, rows: Arrivals, delivery: str | None) -> bool:
    """Whether this delivery is a repetition; a new one is recorded."""
    if delivery is None and rows.ids is not None:
        return False
    digest = rows.digest()
    name = f"content {digest}" if delivery is None else f"name {delivery}"
    before = db.delivery(name)
    if before is None:
        db.add_delivery(name, digest, rows.n)
        return False
    if before[0] != digest:
        problem = f"{delivery!r} was already added with other rows ({before[1]:,} then, {rows.n:,} now)"
        raise InputError("delivery", problem, "give it a new name")
    return True


def _check_times(rows: Arrivals, latest: Any) -> None:
    """Raise for times to come, which would close all windows until then."""
    if rows.time is None:
        return
    end = _latest_time(latest)
    ahead = rows.time > end
    if ahead.any():
        row = int(np.argmax(ahead))
        problem = f"{time_text(int(rows.time[row]))} is after the latest accepted time ({time_text(int(end))})"
        remedy = "correct the time, drop the row, or pass latest if the time is right"
        raise InputError("when", problem, remedy, row=row, count=int(ahead.sum()))


def _latest_time(latest: Any) -> float:
    """The latest accepted time, by default a day after that of the machine."""
    if latest == "auto":
        return int(time.time() * SECOND) + read_duration("1d", "latest")
    return math.inf if latest is None else read_time(latest, "latest")


def _advance(db: Transaction, clock: int) -> None:
    """Advance the clock; it never goes back, and older rows are late."""
    before = db.meta("clock")
    if before is None or clock > before:
        db.set_meta("clock", clock)
