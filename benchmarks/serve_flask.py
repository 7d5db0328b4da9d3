"""The usual design of a server for online learning: a Flask app around a pickled model of River.

Each request loads the pickle, predicts or learns, and writes the pickle if it has learned; nothing is flushed to disk.

    python benchmarks/serve_flask.py FOLDER PORT
"""

from __future__ import annotations

import logging
import pickle
import sys
import threading
from pathlib import Path
from typing import Any

from flask import Flask, request
from werkzeug.serving import WSGIRequestHandler

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
app = Flask(__name__)
one_writer = threading.Lock()


@app.post("/v1/models/<name>/predict")
def predict(name: str) -> dict[str, Any]:
    with one_writer:
        model = pickle.loads((FOLDER / name).read_bytes())
    return {"prediction": model.predict_proba_one(request.get_json()["features"])}


@app.post("/v1/models/<name>/learn")
def learn(name: str) -> dict[str, Any]:
    given = request.get_json()
    with one_writer:
        model = pickle.loads((FOLDER / name).read_bytes())
        model.learn_one(given["features"], given["label"])
        (FOLDER / name).write_bytes(pickle.dumps(model))
    return {}


if __name__ == "__main__":
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # no line for each request
    WSGIRequestHandler.protocol_version = "HTTP/1.1"  # connections stay open, as in the other server
    app.run("127.0.0.1", int(sys.argv[2]), threaded=True)
