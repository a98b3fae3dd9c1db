"""The remaining time of an ingestion: none too early, none of the model's loading, no growth."""

from ragkit_ingest.run.estimate import Estimate
from ragkit_ingest.run.report import Progress


def progress(files: int, seconds: float, *, chunks: int = 10, total: int = 14) -> Progress:
    return Progress(files, total, chunks, seconds)


def test_the_loading_of_the_model_does_not_count() -> None:
    estimate = Estimate()
    assert estimate.remaining_s(progress(1, 5.0, chunks=0)) is None
    assert estimate.remaining_s(progress(1, 40.0)) is None
    assert estimate.remaining_s(progress(3, 41.0)) is None
    assert estimate.remaining_s(progress(6, 45.0)) == 8.0


def test_three_files_in_less_than_three_seconds_are_too_little_to_go_by() -> None:
    estimate = Estimate()
    estimate.remaining_s(progress(0, 1.0))
    assert estimate.remaining_s(progress(9, 3.9)) is None
    assert estimate.remaining_s(progress(9, 4.0, total=12)) == 1.0


def test_the_estimate_falls_while_a_file_takes_long_and_is_dropped_when_it_is_over() -> None:
    estimate = Estimate()
    estimate.remaining_s(progress(0, 0.0))
    assert estimate.remaining_s(progress(10, 10.0)) == 4.0
    assert estimate.remaining_s(progress(10, 12.0)) == 2.0
    assert estimate.remaining_s(progress(10, 60.0)) is None
    assert estimate.remaining_s(progress(14, 61.0)) is None
