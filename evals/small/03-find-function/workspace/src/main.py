from wire import parse_header

print(parse_header(b'abcdef'))
