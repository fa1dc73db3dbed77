"""What errors of providers mean, in their own words."""

from __future__ import annotations

from email.utils import formatdate

import pytest

from entresol.features.fork.transport import rejections

RATE_LIMITS = [
    (429, "Too Many Requests"),
    (-32005, "limit exceeded"),
    (-32007, "50/second request limit reached - reduce calls per second or upgrade your account"),
    (-32000, "Your app has exceeded its compute units per second capacity."),
    (-32000, "rate limit exceeded"),
    (-32000, "project ID request rate exceeded: rate-limited"),
    (-32016, "over rate limit"),
    (0, "daily request quota reached"),
    (-32029, "Too Many Requests, throttled"),
]
NOT_RATE_LIMITS = [
    (-32005, "query returned more than 10000 results"),
    (-32005, "logs matched by query exceeds limit of 10000"),
    (-32602, "block range is too wide"),
    (-32000, "missing trie node"),
    (3, "execution reverted: quota reached"),
    (-32000, "execution reverted: rate limit"),
]


@pytest.mark.parametrize(("code", "text"), RATE_LIMITS)
def test_a_rate_limit_is_known_by_code_or_text(code: int, text: str) -> None:
    assert rejections.is_rate_limit(code, text)


@pytest.mark.parametrize(("code", "text"), NOT_RATE_LIMITS)
def test_too_many_logs_and_other_errors_are_no_rate_limit(code: int, text: str) -> None:
    assert not rejections.is_rate_limit(code, text)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (-32600, "Invalid Request"),
        (-32000, "batch too large"),
        (-32000, "batch of more than 3 requests are not allowed on free tier"),
        (-32602, "Batch size is too large, must be less than 50"),
        (-32000, "too many calls in batch request"),
        (-32003, "response too large"),
    ],
)
def test_a_batch_that_is_too_large_is_known_by_code_or_text(code: int, text: str) -> None:
    assert rejections.is_too_large(code, text)


@pytest.mark.parametrize(
    "text",
    [
        "missing trie node 9d1c… (path ) state 0x… is not available",
        "state is not available",
        "required historical state unavailable (reexec=128)",
        "distance to target block exceeds maximum proof window",
        "state at block #100 is pruned",
        "project ID does not have access to archive state",
        "old data not available due to pruning",
        "historical state 0xab is not available",
        "Block requested not found. Request might be querying historical state that is not available.",
    ],
)
def test_state_that_is_gone_is_known_by_its_text(text: str) -> None:
    assert rejections.is_no_archive(text)


@pytest.mark.parametrize(
    "text",
    ["header for hash not found", "header not found", "unknown block", "block 0xab not found",
     "hash 0xab is not currently canonical", "Requested block does not exist: no block 0xab"],
)  # fmt: skip
def test_a_block_that_is_gone_is_known_by_its_text(text: str) -> None:
    assert rejections.is_unknown_block(text)
    assert not rejections.is_no_archive(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3", 3.0),
        ("0.5", 0.5),
        (formatdate(1_010, usegmt=True), 10.0),
        (formatdate(900, usegmt=True), 0.0),
        ("9" * 9, 999_999_999.0),
        ("9" * 400, None),
        ("soon", None),
        ("-3", None),
        (None, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str | None, seconds: float | None) -> None:
    assert rejections.seconds_of(text, now=1_000.0) == seconds
