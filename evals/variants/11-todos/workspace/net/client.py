def get(url):
    # TODO: retry on failure
    return url
