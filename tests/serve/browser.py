"""A tab of Chromium without a window, spoken to over two pipes: nothing but the browser is needed."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"
MISSING = "no Chromium here: apt-get install chromium, or make browser, which does it"
_OFF = "gpu", "quic", "background-networking", "component-update", "sync", "dev-shm-usage"
_FLAGS = [*(f"--disable-{name}" for name in _OFF), "--headless", "--no-sandbox", "--no-first-run"]
_FLAGS += ["--hide-scrollbars", "--remote-debugging-pipe"]


def find():
    return next(filter(None, map(shutil.which, NAMES)), None)


class Tab:
    """A page that is open; ``said`` has its errors and what it wrote to the console."""

    def __init__(self, to, answers):
        self.to, self.answers, self.session = to, answers, None
        self.numbers, self.rest, self.said = itertools.count(1), b"", []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **given):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": given}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            found = self._read()
            if found.get("id") == number:
                assert "error" not in found, (method, found["error"])
                return found["result"]
            if found.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
                self.said.append(found["params"])

    def _read(self):
        while b"\0" not in self.rest:
            part = os.read(self.answers, 1 << 20)
            assert part, "the browser has ended"
            self.rest += part
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def open(self, address, width=1400, height=1000, dark=False):
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def run(self, text):
        """The value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=text, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, text, seconds=20.0):
        """Wait until an expression is true; returns it."""
        end = time.monotonic() + seconds
        while not (found := self.run(text)):
            assert time.monotonic() < end, (text, self.run("document.body.innerText"))
            time.sleep(0.05)
        return found

    def press(self, key, code=0, text=""):
        for kind in ("keyDown", "keyUp"):
            given = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **given)

    def picture(self, path, **given):
        found = self.call("Page.captureScreenshot", captureBeyondViewport=True, **given)
        path.write_bytes(base64.b64decode(found["data"]))


@contextlib.contextmanager
def tab():
    """A tab of a browser of its own, which ends afterwards."""
    program = find()
    assert program is not None, MISSING
    (read, to), (answers, write) = os.pipe(), os.pipe()

    def pipes():  # the browser reads from 3 and writes to 4
        a, b = os.dup(read), os.dup(write)
        os.dup2(a, 3)
        os.dup2(b, 4)

    with tempfile.TemporaryDirectory() as folder:
        command = [program, *_FLAGS, f"--user-data-dir={folder}"]
        with open(os.path.join(folder, "log"), "wb") as log:
            one = subprocess.Popen(command, preexec_fn=pipes, close_fds=False, stdout=log, stderr=log)
        os.close(read)
        os.close(write)
        try:
            yield Tab(to, answers)
        finally:
            os.close(to)
            os.close(answers)
            try:
                one.wait(10)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()
