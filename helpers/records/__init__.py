"""Every file under recorded/: what it is, where it comes from, and whether it is whole. Page: recorded-runs."""

from helpers.records.record import FOLDER, Record, lab_runs, lab_seconds, record_of, records
from helpers.records.whole import RecordError, whole

__all__ = ["FOLDER", "Record", "RecordError", "lab_runs", "lab_seconds", "record_of", "records", "whole"]
