def parse_body(data):
    return data[4:]
