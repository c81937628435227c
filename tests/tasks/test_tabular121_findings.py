"""What is said of studies on the tables, from records whose answers are known."""

import numpy as np
import pytest

from squentropy.study import Store
from squentropy.study.published import published_rows
from squentropy.study.report.document import Table
from squentropy.tasks.tabular121_findings import sections
from squentropy.tasks.tabular121_pages import HEADLINE, PAGES, page
from tests.study.synthetic import make_record

# Accuracy of squentropy and of cross entropy on each set, in percent; ECE is a tenth of what is missing to 100.
SETS = {
    "iris": (96.0, 94.0),  # 3 classes, 150 rows
    "wine": (90.02, 89.98),  # a tie as printed, a win strictly
    "balloons": (70.0, 70.0),  # a tie
    "abalone": (50.0, 53.0),  # more than 1,000 rows
    "letter": (80.0, 79.0),  # more than 5,000 rows, 26 classes
    "magic": (85.0, 84.0),
}
LOSSES = {"squentropy": 0, "cross_entropy": 1}


def records(group, offset=0.0, sets=SETS, **more):
    made = []
    for name, accuracies in sets.items():
        for loss, column in LOSSES.items():
            for seed in range(5):
                accuracy = (accuracies[column] - offset * column) / 100
                record = make_record(
                    f"{group}/{name}",
                    loss,
                    seed,
                    accuracy=accuracy,
                    ece=(1 - accuracy) / 10,
                    paper_row=f"121 tabular: {name}",
                )
                for selection in record["metrics"].values():
                    selection.update(more)
                made.append(record)
    return made


def write(root, name, made):
    store = Store(root / "studies" / name)
    for record in made:
        store.write(record)


@pytest.fixture
def root(tmp_path):
    square = [
        make_record(f"tabular121/{name}", "rescaled_square", seed, parameters={"M": 5, "t": 1}, accuracy=0.6, ece=0.1)
        for name in SETS
        for seed in range(4)
    ]
    lost = make_record(
        "tabular121/iris", "rescaled_square", 4, parameters={"M": 5, "t": 1}, failed="the training loss became nan"
    )
    write(tmp_path, "tabular121", [*records("tabular121"), *square, lost])
    shares = "\n".join(
        f"{name},{share}" for name, share in zip(SETS, (0.3333, 0.39, 0.6, 0.36, 0.04, 0.65), strict=True)
    )
    (tmp_path / "studies" / "tabular121" / "commonest_class.csv").write_text(f"data_set,commonest_class\n{shares}\n")
    return tmp_path


def tables(root):
    return {
        block.name: block for each in sections(root / "studies") for block in each.blocks if isinstance(block, Table)
    }


def texts(table):
    return [[entry.text for entry in row] for row in table.rows]


def row(table, *start):
    return next(each for each in texts(table) if each[: len(start)] == list(start))


def test_means_of_each_loss(root):
    squentropy, cross_entropy, square = texts(tables(root)["headline"])
    assert [text.partition(" [")[0] for text in squentropy] == [
        "squentropy",
        "85.6",
        "78.5",
        "79.5",
        "11.6",
        "2.1",
        "1.1",
    ]
    assert [text.partition(" [")[0] for text in cross_entropy][:4] == ["cross entropy", "85.2", "78.3", "79.3"]
    assert [text.partition(" [")[0] for text in square][2] == "60.0"


def test_wins_with_and_without_rounding(root):
    wins = tables(root)["wins"]
    assert row(wins, "last epoch", "cross entropy", "accuracy")[3:5] == ["3 / 2 / 1", "4 / 1 / 1"]
    # In the published table: iris 97.2 / 96.0, wine, balloons, abalone 66.0 / 67.9, letter, magic.
    assert sum(map(int, row(wins, "last epoch", "cross entropy", "accuracy")[5].split(" / "))) == 6
    assert row(wins, "last epoch", "cross entropy", "accuracy")[6].startswith("+0.17 [")


def test_kinds_of_data(root):
    kinds = tables(root)["kinds"]
    assert row(kinds, "6 classes and more")[1:4] == ["1", "1 / 0 / 0", "+1.00 [1.00 to 1.00]"]
    assert row(kinds, "more than 5,000 rows")[1:3] == ["2", "2 / 0 / 0"]
    assert row(kinds, "1,001 to 5,000 rows")[1:4] == ["1", "0 / 0 / 1", "−3.00 [−3.00 to −3.00]"]
    assert row(kinds, "fewer than 300 rows")[1:3] == ["3", "2 / 1 / 0"]
    assert row(kinds, "balanced: commonest class at most 1.2 / C")[1] == "5"
    assert row(kinds, "commonest class 1.2 / C to 1.6 / C")[1] == "1"


def test_failed_runs_are_named_and_count_as_guesses_where_it_says_so(root):
    assert texts(tables(root)["failed"]) == [["tabular121", "rescaled square (M=5, t=1)", "1 of 25", "iris (1)"]]
    (section,) = (each for each in sections(root / "studies") if each.title == "Failed runs")
    # Iris of the square loss: four runs with 60 and one with a third; the other sets 60.
    assert section.blocks[1].endswith("cross entropy 78.3, rescaled square (M=5, t=1) 59.1 and squentropy 78.5.")


def test_runs_that_learnt_nothing(root):
    # More than 1,000 rows: abalone (commonest class 36 %), letter (4 %) and magic (65 %).
    assert texts(tables(root)["stuck"]) == [
        ["cross entropy", "0", "–"],
        ["rescaled square (M=5, t=1)", "4", "magic (4)"],
        ["squentropy", "0", "–"],
    ]


def test_distance_to_what_was_published(root):
    distance = tables(root)["distance"]
    values = [float(text.replace("−", "-")) for text in row(distance, "accuracy", "squentropy")[2:]]
    published = np.array([published_rows()[f"121 tabular: {name}"].performance["squentropy"] for name in SETS])
    gaps = np.array([accuracies[0] for accuracies in SETS.values()]) - published
    expected = [published.mean(), gaps.mean(), abs(gaps).mean(), (gaps + 1).mean(), abs(gaps + 1).mean()]
    assert values == pytest.approx(expected, abs=0.051)


def test_temperature_before_and_after(root):
    small = {name: values for name, values in SETS.items() if name not in ("letter", "magic")}
    made = records("tabular121-temperature", sets=small, ece_scaled=0.05, nll_scaled=0.25, temperature=2.0)
    for record in made:
        if record["run"]["loss"]["name"] == "squentropy":
            record["metrics"]["last"]["ece_scaled"] = 0.06
    write(root, "tabular121-temperature", made)
    found = tables(root)
    squentropy = row(found["temperature"], "squentropy")
    assert squentropy[3].startswith("6.0 [")
    assert squentropy[5:] == ["0.250", "2.00"]
    assert row(found["temperature-pairs"], "cross entropy", "ECE after scaling")[2:5] == [
        "0 / 0 / 4",
        "0 / 0 / 4",
        "−1.00 [−1.00 to −1.00]",
    ]


def test_other_losses_and_protocols_on_the_sets_that_they_have(root):
    focal = [
        make_record(f"tabular121/{name}", "focal", seed, accuracy=0.9, ece=0.02)
        for name in ("iris", "wine")
        for seed in range(5)
    ]
    write(root, "tabular121-ablations", focal)
    write(root, "tabular121-plain", records("tabular121-plain", offset=-2.0, sets={"iris": (96.0, 94.0)}))
    found = tables(root)
    assert row(found["ablations"], "focal")[1:4] == ["90.0 [90.0 to 90.0]", "1 / 1 / 0", "+3.01 [0.02 to 6.00]"]
    assert row(found["protocols"], "momentum 0.9", "accuracy")[5] == "1 / 0 / 0"
    assert row(found["protocols"], "momentum 0", "accuracy")[5] == "0 / 1 / 0"
    assert "same 1 data sets of up to 150 rows" in found["protocols"].caption
    assert "on 2 data sets of up to 178 rows" in found["ablations"].caption


def test_the_published_table_contradicts_its_text(root):
    (section,) = (each for each in sections(root / "studies") if "own text" in each.title)
    (text,) = section.blocks
    assert "82 / 12 / 27 in accuracy and 77 / 6 / 38 in ECE" in text
    assert "Mean of cross entropy: accuracy 85.2 and ECE 13.2, unlike the 85.2 and 13.0" in text
    assert text.count(", as the ") == 2
    assert "rescaled square that can be means of five runs on a fifth of the rows: 62 of the 62" in text


def test_a_page_keeps_all_but_what_stands_between_its_marks(root):
    start = f"<!-- {HEADLINE}: from studies/, by python -m squentropy.tasks.tabular121_pages -->"
    end = f"<!-- end of {HEADLINE} -->"
    (root / "README.md").write_text(f"before\n{start}\nold\n{end}\nafter\n")
    text = page(root, "README.md")
    assert text.startswith(f"before\n{start}\n\nMeans over 6 data sets")
    assert text.endswith(f"|\n\n{end}\nafter\n")
    assert "old" not in text
    (root / "README.md").write_text(f"{start}\nold\n")
    with pytest.raises(ValueError, match="but no '<!-- end of"):
        page(root, "README.md")
    (root / "README.md").write_text("no marks")
    assert page(root, "README.md") == "no marks"
    assert set(PAGES) == {"README.md", "docs/tabular121.md"}


def test_without_records_it_says_what_to_do(tmp_path):
    with pytest.raises(ValueError, match="run a study first"):
        sections(tmp_path)
