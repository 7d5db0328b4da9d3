"""The page, in a real browser, with a stream running."""

from __future__ import annotations

import threading

import browser
import pytest
from harness import PERCEPTRON, example, running

from onlineboost.serve.tokens import Tokens

EVIL = '<img src=x onerror="document.title=1">'
needs_browser = pytest.mark.skipif(browser.find() is None, reason=browser.MISSING)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with running(tmp_path_factory.mktemp("page")) as one:
        model = {
            "model": "OnlineBBM",
            "params": {"estimator": {"class": "Perceptron", "params": {}}, "n_estimators": 3},
        }
        assert one("PUT", "/v1/models/m", model)[0] == 201
        assert one("PUT", "/v1/models/other", PERCEPTRON)[0] == 201
        for k in range(40):
            learn(one, k)
        yield one


@pytest.fixture(scope="module")
def tab():
    with browser.tab() as one:
        yield one


@pytest.fixture
def stream(service):
    """Examples that come while the page is open."""
    ends = threading.Event()

    def run():
        k = 40
        while not ends.wait(0.05):
            learn(service, k)
            k += 1

    thread = threading.Thread(target=run)
    thread.start()
    yield
    ends.set()
    thread.join()


def learn(service, k):
    features, label = example(k)
    given = {"features": features | {EVIL: 1.0}, "label": EVIL if label == "large" else label}
    assert service("POST", "/v1/models/m/learn", given)[0] == 200


SHOWN = (
    "document.querySelectorAll('#examples button').length > 2 && document.querySelectorAll('#why .name').length > 1"
    " && document.querySelectorAll('#features .name').length > 1 && document.querySelector('#error .model') && true"
)


@needs_browser
@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_a_running_stream_is_shown(service, tab, stream, width, dark):
    tab.open(service.address + "/", width, dark=dark)
    tab.until(SHOWN)
    assert tab.run("document.documentElement.scrollWidth <= innerWidth")
    ground = tab.run("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, ground[4:-1].split(","))) < 200) == dark
    before = int(tab.run("document.querySelectorAll('#tiles b')[3].textContent"))
    tab.until(f"+document.querySelectorAll('#tiles b')[3].textContent > {before}")
    tiles = tab.run("[...document.querySelectorAll('#tiles b')].slice(0, 2).map((one) => +one.textContent)")
    assert all(0 <= value <= 1 for value in tiles)
    assert tab.run("document.querySelectorAll('#members tbody tr').length") == 3
    assert tab.run("document.querySelectorAll('#calibration circle').length") > 0
    assert tab.said == []


@needs_browser
def test_names_and_labels_are_text(service, tab, stream):
    tab.open(service.address + "/")
    tab.until(SHOWN)
    assert EVIL in tab.until("[...document.querySelectorAll('#examples')].map((one) => one.textContent).join()")
    assert EVIL in tab.run("document.getElementById('features').textContent")
    assert tab.run("document.querySelectorAll('img').length") == 0
    assert tab.run("document.title") == "onlineboost"


@needs_browser
def test_the_policy_stops_scripts_of_others(service, tab):
    tab.open(service.address + "/")
    tab.run("document.head.append(Object.assign(document.createElement('script'), {textContent: 'window.evil = 1'}))")
    tab.run("document.body.append(Object.assign(document.createElement('img'), {src: '/healthz'}))")
    assert tab.run("typeof evil") == "undefined"
    tab.until("document.querySelector('img').complete && !document.querySelector('img').naturalWidth")
    assert "Content Security Policy" in str(tab.said)
    tab.said.clear()


@needs_browser
def test_an_example_is_tried_by_keyboard(service, tab, stream):
    tab.open(service.address + "/", 390)
    tab.until(SHOWN)
    tab.press("Tab", 9)
    assert tab.run("document.activeElement.className") == "skip"
    tab.run("document.querySelector('#examples button').focus()")
    tab.press("Enter", 13, "\r")
    tab.until("seen.chosen !== null && !document.getElementById('newest').hidden")
    assert tab.run("document.activeElement.dataset.number === String(seen.chosen.number)")
    tab.run("document.getElementById('use').focus()")
    tab.press("Enter", 13, "\r")
    assert tab.until("document.activeElement.id === 'given' && document.activeElement.value").count("size = ") == 1
    tab.press("Tab", 9)
    assert tab.run("document.activeElement.id") == "predict"
    tab.press("Enter", 13, "\r")
    assert tab.until("document.getElementById('answer').textContent").startswith("Prediction: ")
    tab.run("document.getElementById('given').value = 'no value'")
    tab.press("Enter", 13, "\r")
    assert "expected name = value" in tab.until("document.querySelector('#answer.failed')?.textContent")


@needs_browser
def test_a_model_is_chosen_and_kept_in_the_address(service, tab):
    tab.open(service.address + "/")
    tab.until("document.getElementById('model').options.length === 2")
    tab.run("model.value = 'other', model.onchange()")
    tab.until("document.querySelectorAll('#tiles b')[3].textContent === '0'")
    assert tab.run("location.hash") == "#other"
    tab.run("document.getElementById('theme').click()")
    assert tab.run("document.documentElement.dataset.theme") == "dark"


@needs_browser
def test_a_model_that_is_compiled_is_named(tmp_path, tab):
    with running(tmp_path) as one:
        tab.open(one.address)
        tab.until("!document.querySelector('#empty').hidden")
        with one.service.state.getting_ready("clicks"):
            tab.until("document.querySelector('#ready').textContent.includes('Compiling the code of clicks')")
            assert tab.run("document.querySelector('#empty').hidden && !document.querySelector('#tiles').offsetParent")
        tab.until("document.querySelector('#ready').hidden")
        assert one("PUT", "/v1/models/m", PERCEPTRON)[0] == 201
        tab.until("document.querySelector('#tiles').offsetParent && document.querySelector('#empty').hidden")


@needs_browser
def test_a_token_is_asked_for(tmp_path, tab):
    with running(tmp_path, tokens=Tokens([("read", b"r" * 20)])) as service:
        tab.open(service.address + "/")
        tab.until("!document.getElementById('access').hidden")
        tab.run(f"token = '', document.getElementById('token').value = '{'r' * 20}'")
        tab.run("document.getElementById('access').requestSubmit()")
        tab.until("!document.getElementById('empty').hidden && document.getElementById('access').hidden")
        tab.run("sessionStorage.clear()")
    tab.said.clear()


def test_the_page_is_one_document(service):
    status, body = service("GET", "/")
    assert status == 200
    assert b"/*s" not in body
    assert (
        body.count(b"<script") == 1
        and b" src=" not in body
        and b"http://" not in body.replace(b"http://www.w3.org/2000/svg", b"")
    )
