"""Each file of our own JavaScript is one that the browser reads, strictly."""

from __future__ import annotations

import re

from playwright.sync_api import Browser

from app.model.paths import ASSETS

READS = """(text) => {
  try {
    new Function(`'use strict';\\n${text}`);
    return '';
  } catch (error) { return String(error); }
}"""
EXPORT = re.compile(r"^export (?=(async )?function)", re.MULTILINE)


def test_each_script_can_be_read(browser: Browser) -> None:
    page, files = browser.new_page(), sorted(ASSETS.glob("*.js"))
    said = {file.name: page.evaluate(READS, EXPORT.sub("", file.read_text())) for file in files}
    page.close()
    assert len(files) > 40
    assert {name: error for name, error in said.items() if error} == {}


def test_one_that_cannot_be_read_is_found(browser: Browser) -> None:
    page = browser.new_page()
    assert page.evaluate(READS, "const a = ;").startswith("SyntaxError")
    page.close()
