"""The whole of what a run writes, held against files that people have read.

After a wanted change, write them anew with `ALETHEIA_GOLDEN=write pytest tests/golden` and read
the difference.
"""

import json
import os
from pathlib import Path

import pytest
from unit.reports.samples import sample_report

from aletheia.reports.document import dump_json, load_json
from aletheia.reports.html import render_html
from aletheia.reports.text import render_text

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("name", "render"), [("report.txt", render_text), ("report.json", dump_json)]
)
def test_the_sample_run_is_written_as_before(name, render):
    file, written = HERE / name, render(sample_report())
    if os.environ.get("ALETHEIA_GOLDEN") == "write":
        file.write_text(written, encoding="utf-8")

    assert written == file.read_text(encoding="utf-8")


def test_a_report_from_before_there_were_cells_can_be_read():
    text = (HERE / "report.json").read_text(encoding="utf-8")
    whole = json.loads(text)
    del whole["diagnosis_report"], whole["provenance"]["judge"]
    for row in whole["detailed_results"]:
        for key in ("diagnosis", "suggestion", "not_diagnosed", "judgements"):
            del row[key]

    report = load_json(json.dumps(whole), "report.json")

    assert report.diagnosis_report is None
    assert "Diagnosis" not in render_text(report)
    assert 'id="cells"' not in render_html(report)


def test_a_stored_report_can_still_be_read():
    text = (HERE / "report.json").read_text(encoding="utf-8")

    assert load_json(text, "report.json").schema_version == 1
