"""Ray's interface as far as ``engine.team`` uses it, in this process: tests say when an actor dies or falls silent."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace


class Reference:
    """The result of a task: its actor runs it, and all tasks before it, when somebody asks."""

    def __init__(self, ray, actor=None, value=None):
        self.ray, self.actor, self.value, self.error = ray, actor, value, None

    def resolved(self):
        if self.actor is not None:
            self.actor.run_until(self)
        if self.error is not None:
            raise self.error
        return self.ray.cloudpickle.loads(self.value)


class Actor:
    """States and results are copies, as between processes."""

    def __init__(self, ray, kind, arguments):
        self.ray, self.worker, self.tasks = ray, None, []
        self.alive, self.killed, self.silent = True, False, False
        self.ask(lambda *given: setattr(self, "worker", kind(*given)), *arguments)

    def __getattr__(self, name):
        return SimpleNamespace(remote=lambda *given: self.ask(lambda *some: getattr(self.worker, name)(*some), *given))

    def ask(self, task, *given):
        assert not any(isinstance(one, Reference) for one in given), (
            "this may end the driver: a check of Ray fails if the actor dies"
        )
        self.tasks.append((Reference(self.ray, self), lambda: task(*given)))
        return self.tasks[-1][0]

    def run_until(self, reference):
        while any(one is reference for one, _ in self.tasks):
            if self.silent:
                raise self.ray.exceptions.GetTimeoutError
            one, task = self.tasks.pop(0)
            try:
                if not self.alive:
                    raise self.ray.exceptions.RayActorError
                one.value = self.ray.cloudpickle.dumps(task())
            except self.ray.exceptions.RayError as problem:
                one.error = problem
            except Exception as problem:
                one.error = self.ray.exceptions.RayTaskError("task", "its traceback", problem).as_instanceof_cause()


class LocalRay:
    """Stands for the module ``ray``, and takes its errors and its pickler."""

    def __init__(self, ray):
        self.exceptions, self.cloudpickle, self.actors = ray.exceptions, ray.cloudpickle, []

    def remote(self, **options):
        return lambda kind: SimpleNamespace(remote=lambda *given: self.started(kind, given))

    def started(self, kind, arguments):
        self.actors.append(Actor(self, kind, arguments))
        return self.actors[-1]

    def put(self, value):
        return Reference(self, value=self.cloudpickle.dumps(value))

    def get(self, found, timeout=None):
        return [one.resolved() for one in found] if isinstance(found, list) else found.resolved()

    def wait(self, references, timeout):
        assert timeout == 0
        done = [one for one in references if one.value is not None or one.error is not None]
        return done, [one for one in references if one not in done]

    def kill(self, actor):
        """It may take time: until then the actor answers."""
        actor.killed = True

    def cluster_resources(self):
        return {"CPU": 2.0}

    @contextlib.contextmanager
    def cluster(self, workers, address):
        yield self
