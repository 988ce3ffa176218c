DEFAULT_TIMEOUT = 45  # seconds
RETRIES = 3


def fetch(url, timeout=DEFAULT_TIMEOUT):
    return url, timeout
