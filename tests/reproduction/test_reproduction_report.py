"""The report of ``onlineboost reproduce``: pure functions of its JSON."""

from __future__ import annotations

import copy
import html as html_text
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from io import StringIO

import pytest
from fake_results import COLUMNS, FAMILIES, PAPER, fake_results
from rich.console import Console

from onlineboost.reproduction import report
from onlineboost.reproduction.figures import Average

OTHER_SETS = {  # of the paper's table; their data could not be found
    "maptaskcoref": (0.1091, 0.1077, 0.1083, 0.1083, 0.1093, 0.1091),
    "vehv2binary": (0.0292, 0.0286, 0.0291, 0.0291, 0.0284, 0.0286),
}


@pytest.fixture(scope="module")
def results():
    return fake_results()


@pytest.fixture(scope="module")
def page(results):
    return report.html(results)


@pytest.fixture
def small():
    """Two sets with round numbers."""
    results = fake_results() | {"vw_sweep": None, "missing": [], "sets": []}
    for name, base, bbm, variant, tree in (("a", 0.2, 0.1, 0.15, 0.25), ("b", 0.4, 0.44, 0.4, 0.2)):
        entries = [("baseline", "paper", base), ("bbm", "paper", bbm), ("bbm", "vw", variant)]
        entries += [("baseline", "trees", 0.5), ("bbm", "trees", tree), ("safe", "linear", base / 2)]
        each = {"name": name, "examples": 100, "features": 3, "train": 80, "test": 20, "note": ""}
        each["paper"] = {"baseline": 0.5, "bbm": 0.4}
        each["entries"] = [
            {"family": family, "setting": setting, "tried": 1, "failed": 0, "reasons": [], "chosen": {}, "model": "M()"}
            | {"progressive": error, "test": [error], "seconds": 1.0, "curve": [[10, 0.5], [80, error]]}
            for family, setting, error in entries
        ]
        results["sets"].append(each)
    return results


def visible(page: str) -> str:
    return html_text.unescape(re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.S))


def printed(table, width: int = 100) -> str:
    memory = StringIO()
    Console(file=memory, width=width).print(table)
    return memory.getvalue()


def rounded(average: Average) -> tuple[float, float, int, int]:
    return round(average.mean, 9), round(average.median, 9), average.sets, average.better


def test_improvements_are_those_computed_by_hand(small):
    found = report.summary(small)
    assert rounded(found.ours["paper"]["bbm"]) == (0.2, 0.2, 2, 1)  # half as many, and a tenth more
    assert rounded(found.ours["vw"]["bbm"]) == (
        0.125,
        0.125,
        2,
        1,
    )  # a quarter fewer, and as many; the baseline is the same
    assert rounded(found.ours["trees"]["bbm"]) == (0.55, 0.55, 2, 2)  # over one tree
    assert rounded(found.over_linear["bbm"]) == (0.125, 0.125, 2, 1)  # a quarter more, and half as many
    assert rounded(found.ours["linear"]["safe"]) == (0.5, 0.5, 2, 2)
    assert rounded(found.paper["bbm"]) == (0.2, 0.2, 2, 2)
    assert "vw itself" not in found.ours and "osboost" not in found.ours["paper"]


def test_the_summary_in_words_has_the_figures(small):
    for text in (report.markdown(small), visible(report.html(small)).replace("\xa0", " ")):
        assert "On average over 2 sets, Online BBM makes 20.0 % fewer mistakes than the baseline" in text
        assert (
            "12.5 % fewer with the authors' Vowpal Wabbit variant (median +12.5 %, better on 1); the paper reports"
            in text
        )
        assert "(20.00 % over these, from its table)" in text
        assert "Over trees, Online BBM makes 55.0 % fewer mistakes than one tree" in text
        assert "better than the linear baseline on 1 of 2 sets. SafeBoost" in text


def test_the_papers_averages_are_near_those_of_its_table(results):
    """The printed table has four decimals; the means that the paper states were taken before rounding."""
    table = PAPER | OTHER_SETS
    for k, family in enumerate(COLUMNS[1:], start=1):
        mean = sum(1 - row[k] / row[0] for row in table.values()) / len(table)
        assert mean == pytest.approx(report.summary(results).published[family], abs=0.00141), family
        here = sum(1 - row[k] / row[0] for row in PAPER.values()) / len(PAPER)
        assert report.summary(results).paper[family].mean == pytest.approx(here)


def test_every_set_entry_and_number_is_on_the_page(results, page):
    text, markdown = visible(page), report.markdown(results)
    for each in results["sets"]:
        assert each["name"] in text
        assert f"{each['examples']:,}" in text and f"{each['features']:,}" in text and each["note"] in text
        for value in each["paper"].values():
            assert f"paper {value:.4f}" in text
        folded = re.search(rf"<summary>{each['name']}: .*?</details>", page, re.S)[0]
        assert folded.count("<tr") == 1 + len(each["entries"])
        for entry in each["entries"]:
            for number in (f"{entry['test'][0]:.4f}", f"{entry['progressive']:.4f}", f"{entry['seconds']:,.1f}"):
                assert number in folded and number in markdown
            assert html_text.escape(entry["model"]) in folded
    for key in ("command", "machine"):
        assert results[key] in text
    for name, version in results["versions"].items():
        assert f"{name} {version}" in text
    assert all(f"{each['name']} is missing: {each['why']}" in text for each in results["missing"])
    assert "2,345 s, extrapolated from 16 of them: 188 times as long" in text


def test_the_lowest_of_a_row_is_bold_and_ties_share_it(small):
    small["sets"][0]["entries"][0]["test"] = [0.10004]
    assert "<b>0.1000</b>" in report.html(small)
    assert "| a | **0.1000** (paper 0.5000) | **0.1000** (paper 0.4000) | — (paper —)" in report.markdown(small)


def test_what_is_missing_shows_a_dash(small):
    small["sets"][1]["entries"] = []
    table = report.markdown(small).split("## The authors' variants")[0]
    assert "| a | 0.2000" in table and "| b |" not in table  # a set that has not been run yet has no row
    assert "| — (paper —) |" in table
    assert "| b | — (0.5000) | — (0.4000) | — | — |" in report.readme_table(small)


def test_where_nothing_worked_the_reason_is_shown(small):
    small["sets"][0]["entries"][1] |= {"test": [], "failed": 1, "reasons": ["overflow in round 3"], "progressive": None}
    page = report.html(small)
    assert "1 failed: overflow in round 3" in page
    assert rounded(report.summary(small).ours["paper"]["bbm"]) == (-0.1, -0.1, 1, 0)


def test_nothing_at_all_is_a_report_too(small):
    small["sets"] = []
    balanced(report.html(small))
    assert report.markdown(small).startswith("# ")
    assert "The authors' variants" not in report.html(small)
    assert report.readme_table(small).count("\n") == 3
    assert "OSBoost" in printed(report.text(small))


def test_several_splits_show_the_standard_error(small):
    small["splits"] = 2
    small["sets"][0]["entries"][1]["test"] = [0.08, 0.12]  # the deviation is 0.0283, over the root of two
    for text in (visible(report.html(small)), report.markdown(small), report.readme_table(small)):
        assert "0.1000 ± 0.0200" in text
    assert re.search(r"0\.2000 +0\.1000 .*\n.* ± 0\.0200 ", printed(report.text(small)))
    assert "±" not in report.readme_table(fake_results(splits=1))


def test_the_best_over_trees_is_chosen_by_progressive_error(small):
    worse_in_test = small["sets"][0]["entries"][4]
    worse_in_test |= {"progressive": 0.01, "test": [0.9]}
    assert "| 0.9000 (Online BBM) |" in report.readme_table(small)


def test_chance_and_seconds_are_those_computed_by_hand(small):
    small["sets"][0]["entries"].append(small["sets"][0]["entries"][2] | {"setting": "vw itself", "seconds": 8.0})
    markdown = report.markdown(small)
    assert "| a | 100 | 3 | 80 | 20 | ± 0.0894 |" in markdown  # the root of 0.2 * 0.8 / 20
    assert "| a | 2.0 | 3.0 | — | — | — | — | 1.0 | 8.0 | 14.0 |" in markdown
    assert "| **all** | 4.0 | 6.0 | — | — | — | — | 2.0 | 8.0 | 20.0 |" in markdown


def test_one_split_is_said_to_be_one(results):
    assert "One split" in report.markdown(results) and "One split" not in report.markdown(fake_results(splits=2))


def test_a_difference_to_vw_itself_is_shown_with_its_sign(small):
    entry = small["sets"][0]["entries"][2] | {"setting": "vw itself", "test": [0.16]}
    small["sets"][0]["entries"].append(entry)
    assert "0.1600 / 0.1500 (-0.0100)" in report.markdown(small)


def test_text_is_escaped(small):
    evil = "<script>alert('&|')</script>"
    small |= {"command": evil, "machine": evil, "missing": [{"name": evil, "why": evil}]}
    small["sets"][0] |= {"name": evil, "note": evil}
    small["sets"][0]["entries"][0] |= {"model": evil, "failed": 1, "reasons": [evil], "chosen": {evil: evil}}
    page = report.html(small)
    balanced(page)
    assert "<script" not in page and visible(page).count(evil) > 8
    small["sets"][0]["name"] = "a|b"
    assert "| a\\|b | 0.2000 " in report.readme_table(small)
    assert "| a\\|b | 0.2000" in report.markdown(small) and "<script" not in report.markdown(small).replace(
        f"`{evil}`", ""
    )
    small["sets"][0]["name"] = "[red]"
    assert "[red]" in printed(report.text(small))


def test_the_page_is_self_contained_and_small(page):
    assert not re.search(r"https?:|//[a-z]|@import|url\(|<script|<link|<img|<iframe", page, re.I)
    assert len(page.encode()) < 400_000


class _Balance(HTMLParser):
    """Every tag that opens closes, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, (tag, self.getpos())


def balanced(page: str) -> None:
    parser = _Balance()
    parser.feed(page)
    parser.close()
    assert parser.open == []


@pytest.mark.parametrize("splits", [1, 5])
def test_the_page_is_well_formed(splits):
    page = report.html(fake_results(splits))
    balanced(page)
    anchors = re.findall(r'href="#([^"]+)"', page)
    assert len(anchors) == 9 and all(page.count(f'id="{anchor}"') == 1 for anchor in anchors)


def test_tables_and_pictures_say_what_they_are(page):
    tables = re.findall(r"<table.*?</table>", page, re.S)
    assert all(re.match(r'<table aria-label="[^"]+"><thead><tr><th scope=col', table) for table in tables)
    assert all(row.startswith("<tr><th scope=row>") for t in tables for row in re.findall(r"<tr><t[hd].*?</tr>", t)[1:])
    pictures = re.findall(r"<svg[^>]*>", page)
    assert len(pictures) == 1 + 11 + 8  # bars, curves, keys of the legends
    assert all('role="img" aria-label="' in each or 'aria-hidden="true"' in each for each in pictures)


def test_pictures_stay_within_their_frames(results):
    steep = copy.deepcopy(results)
    for each in steep["sets"]:
        for k, entry in enumerate(each["entries"]):
            entry["test"] = [error * (0.2 + k % 5) for error in entry["test"]]  # up to four times as bad
            entry["curve"][0] = [1, 1.0]
    steep["sets"][0]["entries"][0]["curve"] = [[512, 0.1]] * 2
    for page in (report.html(results), report.html(steep)):
        pictures = re.findall(r'<svg viewBox="0 0 (\S+) (\S+)" role.*?</svg>', page)
        texts = re.findall(r'<svg viewBox="0 0 \S+ \S+" role.*?</svg>', page)
        assert len(texts) == 12
        for (width, height), picture in zip(pictures, texts, strict=True):
            points = [pair.split(",") for line in re.findall(r'points="([^"]+)"', picture) for pair in line.split()]
            points += re.findall(r'<text[^>]* x="([^"]+)" y="([^"]+)"', picture)
            for x, y, w, h in re.findall(r'<rect[^>]* x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)"', picture):
                points += [(x, y), (float(x) + float(w), float(y) + float(h))]
            assert points
            assert all(0 <= float(x) <= float(width) and 0 <= float(y) <= float(height) for x, y in points)


def test_curves_keep_off_the_axis_and_the_first_examples_do_not_set_their_scale(results):
    noisy = copy.deepcopy(results)
    for entry in noisy["sets"][7]["entries"]:
        entry["curve"].insert(0, [1, 1.0])
    assert report.html(noisy) == report.html(results)
    for picture in re.findall(r"<svg [^>]*progressive error.*?</svg>", report.html(results)):
        base = float(re.search(r'class="axis" x1="\S+" x2="\S+" y1="(\S+)"', picture)[1])
        heights = [
            float(pair.split(",")[1]) for line in re.findall(r'points="([^"]+)"', picture) for pair in line.split()
        ]
        assert max(heights) < base


def test_curves_are_those_of_the_entries(small):
    picture = re.search(r'aria-label="(a: progressive[^"]+)"', report.html(small))[1]
    assert "linear baseline 0.2000, Online BBM, linear 0.1000, best of the paper's" in html_text.unescape(picture)
    assert "over trees 0.2500" in picture and "SafeBoost" not in picture


def test_the_table_of_the_terminal_fits_and_is_the_papers(results):
    for splits in (1, 5):
        narrow = printed(report.text(fake_results(splits)), width=80)
        assert max(map(len, narrow.splitlines())) <= 80 and "…" not in narrow
    shown = printed(report.text(results))
    assert all(name in shown for name in PAPER) and "0.1923" in shown
    assert all(FAMILIES[family] in shown for family in COLUMNS)
    assert "+5.9 %" in shown  # the paper's mean over these sets
    assert "+5.9 %" not in printed(report.text(results, "trees")) and "SafeBoost" in printed(
        report.text(results, "trees")
    )


def test_a_quick_run_is_not_taken_for_a_whole_one(small):
    small["quick"] = True
    assert "A quick run" in report.html(small) and "A quick run" in report.markdown(small)


def test_a_report_depends_on_the_json_alone(results):
    before = copy.deepcopy(results)
    pages = [
        (report.html(r), report.markdown(r), report.readme_table(r)) for r in (results, json.loads(json.dumps(results)))
    ]
    assert pages[0] == pages[1] and results == before


@pytest.mark.parametrize("width", [390, 1400])
def test_only_tables_scroll_sideways(page, tmp_path, width):
    """In a real browser, with every folded table open."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("needs Chromium")
    script = "root = frames[0].document.documentElement; document.title = `${root.scrollWidth} of ${root.clientWidth}`"
    opened = html_text.escape(page.replace("<details>", "<details open>"))
    frame = tmp_path / "frame.html"
    frame.write_text(f'<iframe style="border:0;width:{width}px" srcdoc="{opened}" onload="{script}"></iframe>')
    command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--virtual-time-budget=4000", "--dump-dom", frame.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    needed, given = map(int, re.search(r"<title>(\d+) of (\d+)</title>", dom).groups())
    assert needed == given >= width - 20  # less a scroll bar


def test_a_quick_run_is_said_to_be_one_beside_the_values_of_the_paper():
    said = "A quick run with few configurations: not comparable with the paper's values."
    assert said not in " ".join(printed(report.text(fake_results(1))).split())
    assert said in " ".join(printed(report.text(fake_results(1) | {"quick": True})).split())
