"""Inputs of a training: files learned before, files that have grown, and rows left to learn."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from onlineboost.cli.fingerprint import PIPE, Input, fingerprint, has_grown, head_digest
from onlineboost.cli.terminal import announce
from onlineboost.data.page import Page
from onlineboost.errors import DataError, ParameterError

MOST_TIMES = 10_000  # passes over one input, at most
_SHOWN = 3
_TRIED = 16  # earlier contents with the same name that are checked as beginnings of a file


class Learned(NamedTuple):
    """An input learned to its end."""

    name: str
    size: int | None
    digest: str
    rows: int
    times: int


class Unfinished(NamedTuple):
    """Rest of a training that stopped."""

    input: Input | None  # input at which training stopped; None: between two inputs
    rows: int  # rows learned of this input in its unfinished pass
    left: dict[Input, int]  # passes left, by input
    error: bool = False  # stopped by an error in the data
    head: str | None = None  # digest of the first rows of the input where it stopped
    times: int = 0  # finished passes over this input

    def as_json(self) -> dict[str, Any]:
        left = [{**input._asdict(), "times": times} for input, times in self.left.items()]
        return {**self._asdict(), "input": None if self.input is None else self.input._asdict(), "left": left}


class Inputs:
    """Inputs, the passes done over each, and the passes left.

    ``times`` counts the finished passes over an input; ``goal`` is the number to reach. A file named c times is c
    places with one count: place m of them (from 0) was learned (times - m + c - 1) // c times.
    """

    def __init__(
        self, names: list[str], learned: list[Learned], stopped: Unfinished | None, passes: int, again: bool
    ) -> None:
        self.names, self.learned, self.stopped, self.again = names, [*learned], stopped, again
        self.found = [fingerprint(name) for name in names]
        self.before = {Input(*one[:3]): one for one in learned}
        self.times, self.goal = dict[Input, int](), dict[Input, int]()
        self.skip: dict[Input, int] = {}  # rows to skip in the next pass, by input
        self.place = {Input(*one[:3]): k for k, one in enumerate(learned)}  # of each input in ``learned``
        self.pipes = {place for place, input in enumerate(self.found) if input.size is None}  # pipes not read yet
        self.input: Input | None = None  # current input
        self.rows = 0  # rows learned of the current input
        self.moved = False  # whether anything was learned, or an input came to its end
        files = Counter(input for input in self.found if input.size is not None)
        self.named, met = files, Counter[Input]()
        self.mention = []  # ordinal of each place among places of the same file
        for input in self.found:
            self.mention.append(met[input])
            met[input] += 1
        self.head: str | None = None  # digest of the first rows of the latest input
        self.dropped = self.mended = False  # unfinished input: dropped by --again; corrected after an error
        self.first = self._stopped_at()
        self.changed = [input for input in files if input not in self.place and not self._knows_beginning(input)]
        for input in files:
            self.times.setdefault(input, self.learned[self.place[input]].times if input in self.place else 0)
            self.goal[input] = self._goal_of_stopped(input)
        left = any(goal > self.times[input] + (input in self.skip) for input, goal in self.goal.items())
        before = None if stopped is None else stopped.input
        self.waits = before is not None and before.size is None  # whether the unfinished stream has not come yet
        if stopped is not None and self.waits and self.pipes:
            self.waits = not again
            what = "--again: not continuing" if again else "continuing"
            announce(f"onlineboost: {what} after row {stopped.rows:,} of the stream")
        if again and not self.dropped and (self.first is not None or left):
            announce(
                "onlineboost: --again: finishing the interrupted training first; repeat the command to train again"
            )
            self.again = again = False
        for input, mentions in files.items():
            if again:
                self.times[input] += self.skip.pop(input, None) is not None
                self.goal[input] = self.times[input] + mentions * passes
            else:
                least = self.times[input] + (input in self.skip)
                self.goal[input] = max(mentions * passes, least, self.goal[input])
            if self.goal[input] - self.times[input] > MOST_TIMES:
                raise ParameterError("--passes", passes, f"at most {MOST_TIMES:,} times the same file")
        self.passes = max((goal for _, goal in self._places().values()), default=1)
        if left and self.first is None and not again:
            times = f", {self.passes:,} passes" if self.passes > 1 else ""
            announce(f"onlineboost: continuing the interrupted training{times}")

    def _stopped_at(self) -> Input | None:
        """The unfinished file as it is now; None if it is not among the files, or was a pipe."""
        stopped = self.stopped
        if stopped is None or stopped.input is None or stopped.input.size is None:
            return None
        old, where = stopped.input, f"row {stopped.rows:,}"
        name, now, changed = self._look_for(old)
        if now is None:
            announce(
                f"onlineboost: training had stopped at {where} of {old.name}, not among the files now: not continued"
            )
            return None
        if changed and self.again:
            self.dropped = True
            return None
        if changed and not stopped.error:
            raise DataError(
                f"{name}: has changed since training stopped at {where}: restore it, or learn all its rows with --again"
            )
        if now != old and old in self.place:
            self.place[now] = self.place.pop(old)
        elif now not in self.place:
            self._knows_beginning(now)
        self.skip[now], self.mended = stopped.rows, changed
        times, mentions = stopped.times, self.named[now]
        self.times[now] = times
        goal = -(-(times + stopped.left.get(old, 1)) // mentions)
        number = f", pass {times // mentions + 1:,} of {goal:,}" if goal > 1 else ""
        mended = ", with a changed file: earlier rows are assumed to be the same" if changed else ""
        announce(f"onlineboost: continuing after {where} of {old.name}{number}{mended}")
        return now

    def _look_for(self, old: Input) -> tuple[str, Input | None, bool]:
        """Match a file by digest, then by prefix, then by name; and whether it has changed."""
        if old in self.named:
            return self.names[self.found.index(old)], old, False
        same = [(self.names[k], input) for k, input in enumerate(self.found) if input.name == old.name]
        same = [(name, input) for name, input in same if input not in self.before]
        for name, input in same:
            if old.size is not None and old.digest is not None and has_grown(name, old.size, old.digest):
                return name, input, False
        return (*same[0], True) if same else ("", None, False)

    def _knows_beginning(self, input: Input) -> bool:
        """Whether the beginning of a file was learned as an earlier, shorter file."""
        if input in self.times or input.size is None:
            return True
        name = self.names[self.found.index(input)]
        same = [one for one in self.place if one.name == input.name and one not in self.named and one.size is not None]
        for one in same[: -_TRIED - 1 : -1]:
            if has_grown(name, one.size or 0, one.digest or ""):
                earlier = self.learned[self.place[one]]
                self.place[input] = self.place.pop(one)
                self.times[input], self.skip[input] = earlier.times - 1, earlier.rows
                return True
        return False

    def _goal_of_stopped(self, input: Input) -> int:
        """Number of passes that an interrupted training had planned for a file, by content, else by name."""
        if self.stopped is None:
            return 0
        times, left, old = self.times[input], self.stopped.left, self.stopped.input
        if input == self.first and old is not None:
            return times + left.get(old, 1)
        if input in left or input in self.before:
            return times + left.get(input, 0)
        same = [one for one in left if one.name == input.name]
        if len(same) == 1 and same[0] not in self.named and (same[0] != old or self.first is None):
            return times + left[same[0]] + (input in self.skip and same[0] in self.before)
        return 0

    def _places(self) -> dict[int, tuple[int, int]]:
        """Places with passes left: passes done and planned."""
        left = {}
        for place, input in enumerate(self.found):
            if place in self.pipes:
                left[place] = (0, 1)
            elif input.size is not None:
                m, c = self.mention[place], self.named[input]
                have, goal = ((n - m + c - 1) // c for n in (self.times[input], self.goal[input]))
                if have < goal:
                    left[place] = (have, goal)
        return left

    @property
    def are_new(self) -> bool:
        """Whether all rows of all files are to be learned; pipes are known only when read."""
        return not any(self.skip.values()) and len(self._places()) == len(self.names)

    def round(self) -> tuple[int, list[int]]:
        """Places to read next and their number of passes done; the unfinished input comes first."""
        left = {place: have for place, (have, _) in self._places().items()}
        if not left:
            return 0, []
        if self.first is not None:
            have, place = min((left[place], place) for place in left if self.found[place] == self.first)
            return have, [place]
        if self.waits and self.pipes:
            return 0, sorted(self.pipes)
        least = min(left.values())
        return least, [place for place, have in left.items() if have == least]

    def meet(self, place: int, page: Page) -> int:
        """Number of rows to skip, by the first page of an input."""
        input, pipe = self.found[place], place in self.pipes
        stopped, self.head = self.stopped, head_digest(page)
        if self.mended and stopped is not None and input == self.first:
            self.mended = False
            if head_digest(page, stopped.rows) != stopped.head:
                rows = f"its first rows differ from the {stopped.rows:,} rows learned before the error"
                raise DataError(f"{self.names[place]}: {rows}: restore it, or learn all its rows with --again")
        if pipe or self.waits:
            head = Input(PIPE, None, self.head)
            waits, self.waits = self.waits, False
            same = waits and stopped is not None and (stopped.input == head or (pipe and stopped.error))
            if pipe:
                self.found[place] = input = head
                self._know_pipe(place, told=not same)
            if same and stopped is not None:
                self.skip[input] = stopped.rows
                if not pipe:
                    where = f"continuing after row {stopped.rows:,}"
                    announce(f"onlineboost: {where}: {self.names[place]} begins like the stream")
            elif waits and stopped is not None:
                announce(
                    f"onlineboost: the model had stopped at row {stopped.rows:,} of another stream: learning all rows"
                )
        return self.skip.get(input, 0)

    def _know_pipe(self, place: int, told: bool) -> None:
        input, earlier = self.found[place], self.before.get(self.found[place])
        now = self.learned[self.place[input]].times if input in self.place else 0
        stopped = self.stopped  # before rows learned earlier: they were learned again
        again = stopped is not None and stopped.input == input and earlier is not None and stopped.rows < earlier.rows
        if earlier is not None and not again and not self.again:
            self.skip[input], now = earlier.rows, now - 1
            if told:
                rows = f"first {earlier.rows:,} rows were learned before: skipped"
                announce(f"onlineboost: {_shown(self.names[place])}: {rows}")
        self.times[input], self.goal[input] = now, now + 1

    def learn(self, place: int, rows: int) -> None:
        """Rows up to this one were learned."""
        self.input, self.rows, self.moved = self.found[place], rows, True

    def finish(self, place: int, rows: int) -> None:
        """Note the end of an input."""
        input, skip = self.found[place], self.skip.pop(self.found[place], 0)
        self.pipes.discard(place)
        if rows < skip:
            ends = f"{_shown(self.names[place])}: ends after {rows:,} rows, but {skip:,} were learned before"
            raise DataError(
                f"{ends}: restore it" + ("" if input == self.first else ", or learn all its rows with --again")
            )
        if input.digest is None:  # an empty pipe
            return
        self.times[input] += 1
        new = Learned(input.name, input.size, input.digest, rows, self.times[input])
        if input in self.place:
            self.learned[self.place[input]] = new
        else:
            self.place[input] = len(self.learned)
            self.learned.append(new)
        if input == self.first:
            self.first = None
        self.input, self.rows, self.moved = None, 0, True

    def unfinished(self, error: bool) -> Unfinished:
        left = {input: goal - self.times[input] for input, goal in self.goal.items() if goal > self.times[input]}
        if self.input is None:
            return Unfinished(None, 0, left, error)
        return Unfinished(self.input, self.rows, left, error, self.head, self.times[self.input])

    def announce(self) -> None:
        """Report files that are skipped in part or whole, or have changed."""
        left = self._places()
        skipped = [place for place in range(len(self.names)) if place not in left]
        for place in skipped if len(skipped) <= _SHOWN else ():
            rows = self.learned[self.place[self.found[place]]].rows
            announce(f"onlineboost: {self.names[place]}: all {rows:,} rows were learned before: skipped")
        if len(skipped) > _SHOWN:
            announce(f"onlineboost: {len(skipped):,} of {len(self.names):,} files were learned before: skipped")
        for input, skip in self.skip.items():
            if skip and input != self.first:
                name = self.names[self.found.index(input)]
                announce(f"onlineboost: {name}: grown since {skip:,} rows were learned: continuing after them")
        rows_of = {one.name: self.learned[k].rows for one, k in self.place.items() if one not in self.named}
        for input in [input for input in self.changed if input.name in rows_of][:_SHOWN]:
            name, rows = self.names[self.found.index(input)], rows_of[input.name]
            announce(f"onlineboost: {name} has changed since {rows:,} of its rows were learned: learning all rows")
        if not left:
            announce("onlineboost: nothing to learn: use --again to train again on these files")


def _shown(name: str) -> str:
    return "standard input" if name == PIPE else name
