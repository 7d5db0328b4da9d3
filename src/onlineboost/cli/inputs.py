"""Inputs of a training: which were learnt before, which have grown since, and what is left to learn."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from onlineboost.cli.fingerprint import PIPE, Input, fingerprint, has_grown, head_digest
from onlineboost.cli.terminal import announce
from onlineboost.data.page import Page
from onlineboost.errors import DataError, ParameterError

MOST_TIMES = 10_000  # that a training learns one input
_SHOWN = 3
_TRIED = 16  # earlier contents of a name that a file may have grown from


class Learnt(NamedTuple):
    """An input that was learnt to its end."""

    name: str
    size: int | None
    digest: str
    rows: int
    times: int


class Unfinished(NamedTuple):
    """What is left of a training that stopped."""

    input: Input | None  # where it stopped; None: between two inputs
    rows: int  # of this input, learnt since it was last learnt to its end
    left: dict[Input, int]  # number of times that each input is yet to be learnt to its end
    error: bool = False  # stopped by an error in the data
    head: str | None = None  # digest of the first rows of the input where it stopped
    times: int = 0  # that this input was learnt to its end before

    def as_json(self) -> dict[str, Any]:
        left = [{**input._asdict(), "times": times} for input, times in self.left.items()]
        return {**self._asdict(), "input": None if self.input is None else self.input._asdict(), "left": left}


class Inputs:
    """The inputs named, how often each was learnt, and what is left to learn.

    ``times`` counts how often an input was learnt to its end, ``goal`` is what that is to become. A file named c times
    is c places with one count: place m of them (from 0) was learnt (times - m + c - 1) // c times.
    """

    def __init__(
        self, names: list[str], learnt: list[Learnt], stopped: Unfinished | None, passes: int, again: bool
    ) -> None:
        self.names, self.learnt, self.stopped, self.again = names, [*learnt], stopped, again
        self.found = [fingerprint(name) for name in names]
        self.before = {Input(*one[:3]): one for one in learnt}
        self.times, self.goal = dict[Input, int](), dict[Input, int]()
        self.skip: dict[Input, int] = {}  # rows of the next time that were learnt before
        self.place = {Input(*one[:3]): k for k, one in enumerate(learnt)}  # of each input in ``learnt``
        self.pipes = {place for place, input in enumerate(self.found) if input.size is None}  # that were not read yet
        self.input: Input | None = None  # the one that is being learnt
        self.rows = 0  # of it
        self.moved = False  # whether anything was learnt, or an input came to its end
        files = Counter(input for input in self.found if input.size is not None)
        self.named, met = files, Counter[Input]()
        self.mention = []  # of each place, among those of the same file
        for input in self.found:
            self.mention.append(met[input])
            met[input] += 1
        self.head: str | None = None  # digest of the first rows of the input met last
        self.dropped = self.mended = False  # the input where it stopped: by --again; changed after an error
        self.first = self._stopped_at()
        self.changed = [input for input in files if input not in self.place and not self._knows_beginning(input)]
        for input in files:
            self.times.setdefault(input, self.learnt[self.place[input]].times if input in self.place else 0)
            self.goal[input] = self._goal_of_stopped(input)
        left = any(goal > self.times[input] + (input in self.skip) for input, goal in self.goal.items())
        before = None if stopped is None else stopped.input
        self.waits = before is not None and before.size is None  # whether the stream where it stopped was not met
        if stopped is not None and self.waits and self.pipes:
            self.waits = not again
            what = "--again: not continuing" if again else "continuing"
            announce(f"onlineboost: {what} after row {stopped.rows:,} of the stream")
        if again and not self.dropped and (self.first is not None or left):
            announce(
                "onlineboost: --again: the interrupted training is finished first; then --again learns the files anew"
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
        """The file where the training stopped, as it is now; None if it is not named, or was a pipe."""
        stopped = self.stopped
        if stopped is None or stopped.input is None or stopped.input.size is None:
            return None
        old, where = stopped.input, f"row {stopped.rows:,}"
        name, now, changed = self._look_for(old)
        if now is None:
            announce(
                f"onlineboost: the model had stopped at {where} of {old.name}, which is not named now: not continued"
            )
            return None
        if changed and self.again:
            self.dropped = True
            return None
        if changed and not stopped.error:
            raise DataError(
                f"{name}: has changed since the training stopped at {where}: restore it, or --again learns all its rows"
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
        mended = ", with a changed file: its rows up to there are taken to be the same" if changed else ""
        announce(f"onlineboost: continuing after {where} of {old.name}{number}{mended}")
        return now

    def _look_for(self, old: Input) -> tuple[str, Input | None, bool]:
        """The file that is this one, or has grown from it, or else has its name; and whether it has changed."""
        if old in self.named:
            return self.names[self.found.index(old)], old, False
        same = [(self.names[k], input) for k, input in enumerate(self.found) if input.name == old.name]
        same = [(name, input) for name, input in same if input not in self.before]
        for name, input in same:
            if old.size is not None and old.digest is not None and has_grown(name, old.size, old.digest):
                return name, input, False
        return (*same[0], True) if same else ("", None, False)

    def _knows_beginning(self, input: Input) -> bool:
        """Whether a file has grown since it was learnt, which is then taken for its beginning."""
        if input in self.times or input.size is None:
            return True
        name = self.names[self.found.index(input)]
        same = [one for one in self.place if one.name == input.name and one not in self.named and one.size is not None]
        for one in same[: -_TRIED - 1 : -1]:
            if has_grown(name, one.size or 0, one.digest or ""):
                earlier = self.learnt[self.place[one]]
                self.place[input] = self.place.pop(one)
                self.times[input], self.skip[input] = earlier.times - 1, earlier.rows
                return True
        return False

    def _goal_of_stopped(self, input: Input) -> int:
        """How often the interrupted training was to learn a file, found by its content, else by its name."""
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
        """The places that are left: how often the file was learnt there, and is to be."""
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
        """Whether all rows of all files are to be learnt; of pipes that is known when they are met."""
        return not any(self.skip.values()) and len(self._places()) == len(self.names)

    def round(self) -> tuple[int, list[int]]:
        """The places to read next, and how often they were learnt: first where the training stopped."""
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
        """The number of rows to skip, by the first page of an input."""
        input, pipe = self.found[place], place in self.pipes
        stopped, self.head = self.stopped, head_digest(page)
        if self.mended and stopped is not None and input == self.first:
            self.mended = False
            if head_digest(page, stopped.rows) != stopped.head:
                rows = f"its first rows are not those of the {stopped.rows:,} that were learnt before the error"
                raise DataError(f"{self.names[place]}: {rows}: restore it, or --again learns all its rows")
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
                    announce(
                        f"onlineboost: continuing after row {stopped.rows:,}: {self.names[place]} begins as the stream"
                    )
            elif waits and stopped is not None:
                announce(
                    f"onlineboost: the model had stopped at row {stopped.rows:,} of another stream: learning all rows"
                )
        return self.skip.get(input, 0)

    def _know_pipe(self, place: int, told: bool) -> None:
        input, earlier = self.found[place], self.before.get(self.found[place])
        now = self.learnt[self.place[input]].times if input in self.place else 0
        stopped = self.stopped  # before the rows that were learnt earlier: it learnt them again
        again = stopped is not None and stopped.input == input and earlier is not None and stopped.rows < earlier.rows
        if earlier is not None and not again and not self.again:
            self.skip[input], now = earlier.rows, now - 1
            if told:
                rows = f"its first {earlier.rows:,} rows were learnt before: skipped"
                announce(f"onlineboost: {_shown(self.names[place])}: {rows}")
        self.times[input], self.goal[input] = now, now + 1

    def learn(self, place: int, rows: int) -> None:
        """Rows up to this one were learnt."""
        self.input, self.rows, self.moved = self.found[place], rows, True

    def finish(self, place: int, rows: int) -> None:
        """An input came to its end."""
        input, skip = self.found[place], self.skip.pop(self.found[place], 0)
        self.pipes.discard(place)
        if rows < skip:
            ends = f"{_shown(self.names[place])}: ends after {rows:,} rows, but {skip:,} of it were learnt before"
            raise DataError(f"{ends}: restore it" + ("" if input == self.first else ", or --again learns all its rows"))
        if input.digest is None:  # an empty pipe
            return
        self.times[input] += 1
        new = Learnt(input.name, input.size, input.digest, rows, self.times[input])
        if input in self.place:
            self.learnt[self.place[input]] = new
        else:
            self.place[input] = len(self.learnt)
            self.learnt.append(new)
        if input == self.first:
            self.first = None
        self.input, self.rows, self.moved = None, 0, True

    def unfinished(self, error: bool) -> Unfinished:
        left = {input: goal - self.times[input] for input, goal in self.goal.items() if goal > self.times[input]}
        if self.input is None:
            return Unfinished(None, 0, left, error)
        return Unfinished(self.input, self.rows, left, error, self.head, self.times[self.input])

    def announce(self) -> None:
        """Say which files are not learnt from their beginning, or have changed."""
        left = self._places()
        skipped = [place for place in range(len(self.names)) if place not in left]
        for place in skipped if len(skipped) <= _SHOWN else ():
            rows = self.learnt[self.place[self.found[place]]].rows
            announce(f"onlineboost: {self.names[place]}: all {rows:,} rows were learnt before: skipped")
        if len(skipped) > _SHOWN:
            announce(f"onlineboost: {len(skipped):,} of {len(self.names):,} files were learnt before: skipped")
        for input, skip in self.skip.items():
            if skip and input != self.first:
                name = self.names[self.found.index(input)]
                announce(f"onlineboost: {name}: grown since {skip:,} rows were learnt: continuing after them")
        rows_of = {one.name: self.learnt[k].rows for one, k in self.place.items() if one not in self.named}
        for input in [input for input in self.changed if input.name in rows_of][:_SHOWN]:
            name, rows = self.names[self.found.index(input)], rows_of[input.name]
            announce(f"onlineboost: {name} has changed since {rows:,} rows of it were learnt: learning all its rows")
        if not left:
            announce("onlineboost: nothing to learn: --again learns these files once more")


def _shown(name: str) -> str:
    return "standard input" if name == PIPE else name
