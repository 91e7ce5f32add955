"""A plugin for a Python that has pytest alone: a test that wants a package is skipped with the package's name, and so counted."""

import re

import pytest

LACKS = re.compile(r"No module named '(\w+)|needs (numpy)")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return skipped((yield), collector.path)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return skipped((yield), item.path)


def skipped(report, path):
    """The report, of a skip if what failed is a lack."""
    errors = [line for line in str(report.longrepr).splitlines() if line.startswith("E ")] if report.failed else []
    if errors and (lack := LACKS.search(errors[-1])):
        report.outcome, report.longrepr = "skipped", (str(path), 0, f"Skipped: needs {lack[1] or lack[2]}")
    return report
