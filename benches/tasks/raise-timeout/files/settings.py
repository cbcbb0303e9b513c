"""Settings of the fetcher. All times are in seconds."""

CONNECT_TIMEOUT = 30
REQUEST_TIMEOUT = 30
RETRIES = 30
RETRY_PAUSE = 2.5


def total_wait():
    """The longest that one fetch may take."""
    return CONNECT_TIMEOUT + RETRIES * (REQUEST_TIMEOUT + RETRY_PAUSE)
