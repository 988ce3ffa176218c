def parse_header(data):
    return data[:4]
