"""Services as children of one process that has loaded all code, so that they start within a moment.

Lines of standard input start a service: a folder, a port, and perhaps the address of a leader. Its number comes back.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import traceback
from pathlib import Path

from onlineboost import Perceptron
from onlineboost.serve import server
from onlineboost.serve.app import App
from onlineboost.serve.limits import Settings
from onlineboost.serve.service import Service
from onlineboost.serve.state import begin, warm


def child(folder, port, leader):
    logging.basicConfig(level=logging.CRITICAL)
    with Service(Path(folder), Settings(snapshot_every=40), follow=leader) as service:
        server.run(App(service), "127.0.0.1", port)


def main():
    warm(begin(Perceptron()))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        folder, port, *leader = line.split()
        number = os.fork()
        if not number:
            code = 1
            try:
                child(folder, int(port), leader[0] if leader else None)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        print(number, flush=True)


if __name__ == "__main__":
    main()
